// Waits until whoever started it is gone, then ends and removes what lies below one folder: node janitor.ts FOLDER
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = process.argv[2]!;
process.stdin.resume();
await once(process.stdin, 'end');
for (const pid of await boxesBelow(root)) signal(pid);
for (let round = 0; round < 20 && (await processesOf(root)).length > 0; round++) {
  await endBelow(root);
  await pause(100);
}
for (const path of await mountsBelow(root)) await run('umount', ['-l', path]).catch(() => {});
await rm(root, { recursive: true, force: true, maxRetries: 5 });

/** Shims and the like carry their engine's folder in their command line; what they started does not. */
async function endBelow(root: string): Promise<void> {
  for (const pid of await processesOf(root)) {
    const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
    for (const each of [...children.split(' ').filter(Boolean).map(Number), pid]) signal(each);
  }
}

function signal(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Over already.
  }
}

/** First processes of bubblewrap sandboxes. */
async function boxesBelow(root: string): Promise<number[]> {
  const boxes = join(root, 'run', 'boxes');
  const names = await readdir(boxes).catch(() => []);
  const texts = await Promise.all(
    names.map((name) => readFile(join(boxes, name, 'box.json'), 'utf8').catch(() => '{}')),
  );
  return texts.map((text) => (JSON.parse(text) as { pid?: number }).pid ?? 0).filter((pid) => pid > 1);
}

/** Processes whose command line names a folder. */
async function processesOf(root: string): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
  return pids.filter((_, index) => lines[index]!.includes(root)).map(Number);
}

/** Mount points below a folder, innermost first. */
async function mountsBelow(root: string): Promise<string[]> {
  const table = await readFile('/proc/self/mountinfo', 'utf8');
  return table
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((path) => path.startsWith(`${root}/`))
    .reverse();
}
