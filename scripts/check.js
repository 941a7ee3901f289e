// The fast part of `npm test`, under a minute: types, lint, dead code, unit tests.
import { install } from './install.js';
import { close, lint, testStep, typeCheck } from './steps.js';

const node = install();
typeCheck(node);
lint(node);
testStep(node, 'unit', ['src/**/*.test.ts']);
close();
