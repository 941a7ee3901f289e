import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { isatty } from 'node:tty';
import { missingLibrary, withoutLibrary } from './node.js';
import { onceNpmIsGone } from './npm-parents.js';

/**
 * Runs a program in the foreground: same terminal, signals passed on, and its exit code becomes ours (128 and the number
 * of the signal where one ended it, as shells count).
 * Never resolves before the program is gone, so that nothing is left behind. Should we be killed, the channel to it is
 * closed by that, and the program knows.
 */
export function runInForeground(command, args, options = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'], ...options });
    child.channel?.unref();
    const lookNoMore = onceNpmIsGone(() => child.kill('SIGTERM'));
    const canHangUp = [0, 1, 2].some((fd) => isatty(fd));
    const passOn = (signal) => {
      // `nohup` protects us, and npm less: Node undoes it.
      if (signal === 'SIGHUP' && !canHangUp) lookNoMore();
      child.kill(signal);
    };
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
    for (const signal of signals) process.on(signal, passOn);
    const settle = (code) => {
      lookNoMore();
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
