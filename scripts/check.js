// The fast part of `npm test`, under a minute: types, lint, unit tests.
import { close, lint, testStep, typeCheck } from './steps.js';

const node = process.execPath;
typeCheck(node);
lint(node);
testStep(node, 'unit', ['src/**/*.test.ts']);
close();
