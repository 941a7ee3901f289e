import assert from 'node:assert/strict';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { LogFile } from './log-file.ts';

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oub-log-'));
});
after(() => rm(folder, { recursive: true, force: true }));

/** Runs `then` so many turns of promises after the next write of any file is over. */
async function afterWrite(turns: number, then: () => void): Promise<void> {
  const some = await open(join(folder, 'some'), 'a');
  const handles = Object.getPrototypeOf(some) as { appendFile(...args: unknown[]): Promise<void> };
  await some.close();
  const real = handles.appendFile;
  handles.appendFile = function (...args) {
    handles.appendFile = real;
    const done = real.apply(this, args);
    void (async () => {
      await done;
      for (let turn = 0; turn < turns; turn++) await Promise.resolve();
      then();
    })();
    return done;
  };
}

for (let turns = 0; turns < 8; turns++)
  test(`a line that comes ${turns} turns after the last write is in the file when it is closed`, async () => {
    const path = join(folder, `${turns}.log`);
    const file = new LogFile(path);
    await afterWrite(turns, () => file.write('last\n'));
    file.write('first\n');
    await file.close();
    assert.equal(await readFile(path, 'utf8'), 'first\nlast\n');
  });
