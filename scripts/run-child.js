import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { missingLibrary, withoutLibrary } from './node.js';

/**
 * Runs a program in the foreground: same terminal, signals passed on, and its exit code becomes ours (128 and the number
 * of the signal where one ended it, as shells count).
 * Never resolves before the program is gone, so that nothing is left behind.
 */
export function runInForeground(command, args, options = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: 'inherit', ...options });
    const passOn = (signal) => child.kill(signal);
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
    for (const signal of signals) process.on(signal, passOn);
    const settle = (code) => {
      for (const signal of signals) process.off(signal, passOn);
      resolve(code);
    };
    child.on('error', (error) => {
      console.error(`${command} cannot be started: ${error.message}`);
      settle(1);
    });
    child.on('exit', (code, signal) => {
      // The loader's own message says what is missing, but not what to do.
      const library = code === 127 ? missingLibrary(command) : undefined;
      if (library !== undefined) console.error(withoutLibrary(library));
      settle(code ?? 128 + constants.signals[signal]);
    });
  });
}
