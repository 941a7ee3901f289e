// Plain JavaScript that Node 20 understands.
import { readFileSync } from 'node:fs';

const lookEveryMs = 100;
/** A script that is nothing but us: whoever writes more may want us to outlive what started us. */
const onlyUs = /^(?!.*\b(nohup|setsid)\b)[^&|;()\n]*(\boubliette\b|\bscripts\/(start|with-node)\.js\b)[^&|;()\n]*$/;
const shells = /^(sh|ash|bash|dash|zsh|ksh|busybox)$/;

/**
 * Calls back when npm, or the shell by which it started us, is gone: one that is killed passes nothing on, and the shell
 * not even SIGTERM. Answers how to look no more. Where npm did not start us, our parent may go as it likes.
 */
export function onceNpmIsGone(callback, env = process.env) {
  if (!onlyUs.test(env.npm_lifecycle_script ?? '')) return () => {};
  const parent = process.ppid;
  const npm = shells.test(nameOf(parent)) ? parentOf(parent) : undefined;
  let missed = 0;
  const timer = setInterval(() => {
    if (process.ppid === parent && (npm === undefined || parentOf(parent) === npm)) return;
    // A signal that ended npm may have come to us as well, and is to be heard first.
    if (++missed < 2) return;
    clearInterval(timer);
    callback();
  }, lookEveryMs);
  timer.unref();
  return () => clearInterval(timer);
}

const nameOf = (pid) => /\((.*)\)/s.exec(statOf(pid))?.[1] ?? '';

function parentOf(pid) {
  const stat = statOf(pid);
  // The name before it may hold anything, also brackets.
  return stat === '' ? undefined : Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}

function statOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    // Gone, or a system that keeps no such files.
    return '';
  }
}
