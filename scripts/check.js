// The fast part of `npm test`, under a minute: types, lint, dead code, unit tests.
import { close, deadCode, lint, testStep, typeCheck } from './steps.js';

const node = process.execPath;
typeCheck(node);
lint(node);
deadCode(node);
testStep(node, 'unit', ['src/**/*.test.ts']);
close();
