import assert from 'node:assert/strict';
import { mkdir, mkdtemp, open, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from '../../test/kit/fast-check.ts';
import { afterPowerCut } from '../../test/kit/power-cut.ts';
import type { NewFile, SharedPlace } from './file-messages.ts';
import { FileThread } from './file-thread.ts';
import { recoverWrites } from './recovered-writes.ts';
import { ProcessLock } from './lock.ts';
import { changeSteps } from './shared-folder.ts';
import { Database } from './sqlite.ts';
import { WriteJournal } from './write-journal.ts';

const ringBytes = 8 * 2 ** 20;

describe('the journal of what is written', () => {
  let root: string;
  let folder: string;
  let path: string;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'oub-journal-'));
    folder = join(root, 'files');
    path = join(root, 'journal');
    await mkdir(join(folder, 'a'), { recursive: true });
    await WriteJournal.prepare(path);
  });
  afterEach(() => rm(root, { recursive: true }));

  const opened = (): WriteJournal => WriteJournal.open(path)!;
  const entry = (name: string, text?: string) => ({
    path: `a/${name}`,
    bytes: text === undefined ? undefined : Buffer.from(text),
  });
  const textOf = (name: string): Promise<string> => readFile(join(folder, 'a', name), 'utf8');

  /** Writes entries as a process does that dies with the machine: what it put into files may be lost, the journal is not. */
  function keep(...entries: ReturnType<typeof entry>[]): void {
    const journal = opened();
    assert.ok(journal.append(entries));
    journal.close();
  }

  const startMachineAgain = (): Promise<void> => afterPowerCut(path);

  it('is private to the user, is made once, and keeps what it holds when it is made again', async () => {
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    assert.equal((await stat(path)).size, ringBytes);
    keep(entry('x', 'text'));
    await WriteJournal.prepare(path);
    const journal = opened();
    assert.deepEqual(
      [...journal.entries()].map((each) => each.path),
      ['a/x'],
    );
    journal.close();
    assert.deepEqual(await readdir(root), ['files', 'journal']);
  });

  it('puts back what is missing, cut off or full of zeros after a power cut, and nothing else', async () => {
    keep(
      entry('missing', 'all of it'),
      entry('cut', 'all of it'),
      entry('zeros', 'all of it'),
      entry('whole', 'all of it'),
    );
    keep(entry('edited', 'as it was'), entry('gone-folder', 'x'), { path: 'b/nowhere', bytes: Buffer.from('x') });
    await writeFile(join(folder, 'a', 'cut'), 'all');
    await writeFile(join(folder, 'a', 'zeros'), 'all\0\0\0\0\0\0');
    await writeFile(join(folder, 'a', 'whole'), 'all of it');
    await writeFile(join(folder, 'a', 'edited'), 'by hand');
    await startMachineAgain();
    assert.deepEqual(await recoverWrites(folder, path), ['a/missing', 'a/cut', 'a/zeros', 'a/gone-folder']);
    for (const name of ['missing', 'cut', 'zeros', 'whole']) assert.equal(await textOf(name), 'all of it');
    assert.equal(await textOf('edited'), 'by hand');
    assert.equal((await stat(join(folder, 'a', 'missing'))).mode & 0o777, 0o600);
    assert.deepEqual(await readdir(folder), ['a']);
  });

  it('puts nothing back while the machine runs on, nor a second time', async () => {
    keep(entry('deleted', 'by hand'));
    assert.deepEqual(await recoverWrites(folder, path), []);
    await startMachineAgain();
    assert.deepEqual(await recoverWrites(folder, path), ['a/deleted']);
    await rm(join(folder, 'a', 'deleted'));
    await startMachineAgain();
    assert.deepEqual(await recoverWrites(folder, path), []);
  });

  it('leaves to itself what was changed on purpose after it was made, and takes the last of several', async () => {
    keep(entry('deleted', 'x'), entry('twice', 'first'));
    keep(entry('deleted'), entry('twice'));
    keep(entry('twice', 'second'));
    await startMachineAgain();
    assert.deepEqual(await recoverWrites(folder, path), ['a/twice']);
    assert.equal(await textOf('twice'), 'second');
  });

  it('never takes up what a write that was not finished left behind', async () => {
    keep(entry('first1', 'same size'));
    keep(entry('lost-1', 'same size'), entry('lost-2', 'same size'), entry('lost-3', 'same size'));
    // The first of three is torn: the next writer begins where it began, and ends where the second begins.
    const size = 32 + 'a/first1same size'.length + 7 - (('a/first1same size'.length + 7) % 8);
    const file = await open(path, 'r+');
    await file.write(Buffer.from('?'), 0, 1, 4096 + size + 40);
    await file.close();
    keep(entry('later1', 'same size'));
    await startMachineAgain();
    assert.deepEqual(await recoverWrites(folder, path), ['a/first1', 'a/later1']);
  });

  it('ends at a torn entry, and removes itself when its head is damaged', async () => {
    keep(entry('one', '1'), entry('two', '2'));
    const file = await open(path, 'r+');
    await file.write(Buffer.from('?'), 0, 1, 4096 + 40 + 36);
    await startMachineAgain();
    assert.deepEqual(await recoverWrites(folder, path), ['a/one']);
    await file.write(Buffer.from('?'), 0, 1, 9);
    await file.close();
    assert.deepEqual(await recoverWrites(folder, path), []);
    await assert.rejects(stat(path));
    await truncate(join(folder, 'a', 'one'));
    await writeFile(path, '');
    assert.deepEqual(await recoverWrites(folder, path), []);
    await assert.rejects(stat(path));
  });

  it('is written on by several processes in turn, each where the last one ended, also after another settled', () => {
    const [we, they] = [opened(), opened()];
    const names = (journal: WriteJournal): string[] => [...journal.entries()].map((each) => each.path);
    for (let n = 0; n < 3; n++) {
      assert.ok(we.append([entry(`we${n}`, 'x'.repeat(n * 100))]));
      assert.ok(they.append([entry(`they${n}`, 'y'), entry(`both${n}`, '')]));
    }
    const all = [0, 1, 2].flatMap((n) => [`a/we${n}`, `a/they${n}`, `a/both${n}`]);
    assert.deepEqual(names(we), all);
    they.settle(they.start()!, [...they.entries()].at(-1)!.next);
    assert.ok(we.isEmpty);
    assert.ok(we.append([entry('later', 'x')]));
    assert.deepEqual(names(they), ['a/later']);
    we.close();
    they.close();
  });

  it('refuses what has no room, and goes round as its files settle, losing nothing', async () => {
    const sizes = fc.array(fc.integer({ min: 0, max: 700_000 }), { minLength: 20, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(sizes, async (lengths) => {
        const journal = opened();
        const unsettled: string[] = [];
        lengths.forEach((length, n) => {
          const text = String(n).padEnd(length, 'x');
          for (let isKept = false; !isKept;) {
            isKept = journal.append([entry(`f${n}`, text)]);
            if (isKept) continue;
            // About half is settled, as files are from time to time.
            const start = journal.start()!;
            const half = [...journal.entries()].slice(0, Math.ceil(unsettled.length / 2));
            journal.settle(start, half.at(-1)!.next);
            unsettled.splice(0, half.length);
          }
          unsettled.push(text);
        });
        assert.deepEqual(
          [...journal.entries()].map(({ bytes }) => bytes?.toString()),
          unsettled,
        );
        const all = [...journal.entries()];
        journal.settle(journal.start()!, all.at(-1)!.next);
        assert.ok(journal.isEmpty);
        journal.close();
      }),
      { numRuns: 6 },
    );
    const journal = opened();
    assert.equal(journal.append([entry('huge', 'x'.repeat(ringBytes))]), false);
    assert.ok(journal.isEmpty);
    journal.close();
  });

  it('tells one of those who fill it when half of it is full, and again after each eighth of the whole', () => {
    const [we, they] = [opened(), opened()];
    const told: number[] = [];
    const text = 'x'.repeat(10_000);
    for (let n = 0; (n % 3 === 0 ? we : they).append([entry(`f${n}`, text)]); n++) {
      if ((n % 3 === 0 ? we : they).isFilling) told.push((n * 10_040) / ringBytes);
    }
    assert.deepEqual(
      told.map((share) => Math.round(share * 8)),
      [4, 5, 6, 7],
    );
    they.settle(they.start()!, they.end()!);
    assert.ok(we.append([entry('next', text)]));
    assert.ok(!we.isFilling);
    we.close();
    they.close();
  });

  describe('of a folder that processes share', () => {
    let place: SharedPlace;
    let db: Database;
    let files: FileThread;
    beforeEach(async () => {
      place = {
        folder,
        drafts: folder,
        journalPath: path,
        changesPath: join(root, 'changes.db'),
        lockPath: join(root, 'lock'),
        writer: 'we',
      };
      db = new Database(place.changesPath);
      await db.migrate('catalog_changes', changeSteps);
      files = new FileThread(place);
    });
    afterEach(async () => {
      await files.close();
      await db.close();
    });

    const file = (name: string, text: string): NewFile => ({ path: `a/${name}`, name, owner: name, text });
    const create = async (...made: NewFile[]): Promise<void> => {
      const { seq } = db.get<{ seq: number | null }>('SELECT max(seq) AS seq FROM catalog_changes')!;
      const { isStale } = await files.create(made, seq ?? 0);
      assert.ok(!isStale);
    };
    const unsettled = (): string[] => {
      const journal = opened();
      const paths = [...journal.entries()].map((each) => (each.bytes ? each.path : `settled ${each.path}`));
      journal.close();
      return paths;
    };

    it('holds every new file until it is settled, and no name that was taken', async () => {
      await writeFile(join(folder, 'a', 'taken'), 'by another');
      await create(file('one', '1'), file('taken', '2'), file('two', '3'));
      assert.deepEqual(unsettled(), ['a/one', 'a/two']);
      assert.equal(await textOf('taken'), 'by another');
      await files.settle(['a/one']);
      assert.deepEqual(unsettled(), ['a/one', 'a/two', 'settled a/one']);
      await files.close();
      assert.deepEqual(unsettled(), []);
    });

    it('settles many at once, and never what another process has kept and not placed yet', async () => {
      for (let n = 0; n < 3; n++) await create(...Array.from({ length: 40 }, (_, i) => file(`many-${n}-${i}`, 'x')));
      assert.equal(unsettled().length, 120);
      const lock = new ProcessLock(place.lockPath);
      const closing = await lock.hold(async () => {
        keep(entry('early', 'x'));
        const closed = files.close();
        await sleep(50);
        keep(entry('late', 'x'));
        assert.equal(unsettled().length, 122);
        return [closed];
      });
      await closing[0];
      assert.deepEqual(unsettled(), []);
      await lock.close();
    });

    it('lets new files last one by one where there is no room for them, or no journal any more', async () => {
      await create(file('large', 'x'.repeat(2 ** 20 + 1)));
      assert.deepEqual(unsettled(), []);
      await create(file('small', 'x'));
      await rm(path);
      await create(file('without', 'x'), file('small', 'y'));
      assert.equal(await textOf('without'), 'x');
      assert.equal(await textOf('small'), 'x');
    });

    it('is made when more than a few files were', async () => {
      await rm(path);
      await create(file('alone', 'x'));
      await assert.rejects(stat(path));
      for (let n = 0; n < 3; n++) await create(...Array.from({ length: 40 }, (_, i) => file(`many-${n}-${i}`, 'x')));
      while (!(await stat(path).catch(() => undefined)));
      assert.equal((await readdir(join(folder, 'a'))).length, 121);
    });
  });
});
