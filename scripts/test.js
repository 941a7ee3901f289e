// Everything; with-node.js has installed what is missing.
import { installSystemPackages } from './apt.js';
import { close, deadCode, formatting, lint, testStep, typeCheck } from './steps.js';
import { buildWebIfStale } from './web.js';

const node = process.execPath;
installSystemPackages();
buildWebIfStale(node);
typeCheck(node);
lint(node);
deadCode(node);
formatting(node);
testStep(node, 'unit', ['src/**/*.test.ts', 'ui/**/*.test.ts', 'bench/*.test.ts']);
testStep(node, 'journeys', ['test/**/*.test.ts'], { exclude: ['test/browser/**'] });
testStep(node, 'browser', ['test/browser/**/*.test.ts'], { concurrency: 1 });
close();
