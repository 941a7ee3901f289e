// The fast part of `npm test`, under a minute: types, lint, dead code, and the unit tests of the inner rooms. Those at the
// edge start programs and open sockets, which takes longer.
import { close, deadCode, lint, testStep, typeCheck } from './steps.js';

const node = process.execPath;
typeCheck(node);
lint(node);
deadCode(node);
testStep(node, 'unit', ['src/**/*.test.ts'], {
  // Some of them wait most of the time.
  concurrency: 4,
  exclude: ['src/{agents,code,doors,projects,sandbox,sources}/**/*.test.ts'],
});
close();
