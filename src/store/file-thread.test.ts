import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { NewFile, SharedPlace } from './file-messages.ts';
import { FileThread } from './file-thread.ts';
import { ProcessLock } from './lock.ts';
import { changeSteps } from './shared-folder.ts';
import { Database } from './sqlite.ts';

describe('the thread that works on files', () => {
  let root: string;
  let place: SharedPlace;
  let db: Database;
  let files: FileThread;
  /** As if in another process. */
  let others: FileThread;
  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'oub-files-'));
    const folder = join(root, 'shared');
    await mkdir(join(folder, 'drafts'), { recursive: true });
    place = {
      folder,
      drafts: join(folder, 'drafts'),
      journalPath: join(folder, 'journal'),
      changesPath: join(root, 'changes.db'),
      lockPath: join(root, 'lock'),
      writer: 'we',
    };
    db = new Database(place.changesPath);
    await db.migrate('catalog_changes', changeSteps);
    files = new FileThread(place);
    others = new FileThread({ ...place, writer: 'they' });
  });
  after(async () => {
    await Promise.all([files.close(), others.close()]);
    await db.close();
    await rm(root, { recursive: true });
  });

  const path = (name: string): string => join(place.folder, name);
  const file = (name: string, text = name, owner = name): NewFile => ({ path: name, name, owner, text });
  const last = (): number => db.get<{ seq: number | null }>('SELECT max(seq) AS seq FROM catalog_changes')?.seq ?? 0;

  it('makes whole files, private to the user, tells of them, and leaves no draft behind', async () => {
    const texts = Array.from({ length: 300 }, (_, n) => `text ${n} ö`.repeat(n));
    const made = await files.create(
      texts.map((text, n) => file(`many-${n}`, text)),
      last(),
    );
    assert.ok(!made.isStale);
    for (const n of [0, 1, 150, 299]) assert.equal(await readFile(path(`many-${n}`), 'utf8'), texts[n]);
    const info = await stat(path('many-7'));
    assert.equal(info.mode & 0o777, 0o600);
    assert.deepEqual(made.outcomes[7], { mtimeMs: info.mtimeMs, size: info.size });
    assert.deepEqual(await readdir(place.drafts), []);
    assert.equal(made.upTo, last());
    assert.equal(made.hasOthers, false);
    assert.equal(db.all('SELECT 1 FROM catalog_changes WHERE path LIKE ?', 'many-%').length, 300);
  });

  it('lets exactly one of two processes take a place and tells the other', async () => {
    const since = last();
    for (let n = 0; n < 20; n++) {
      const made = await Promise.all([
        files.create([file(`one-${n}`, 'ours', 'same')], since),
        others.create([file(`one-${n}`, 'theirs', 'same')], since),
      ]);
      const outcomes = made.map((each) => (each.isStale ? 'stale' : each.outcomes[0]));
      assert.equal(outcomes.filter((each) => each === false).length, 1, JSON.stringify(outcomes));
      const winner = outcomes[0] === false ? 'theirs' : 'ours';
      assert.equal(await readFile(path(`one-${n}`), 'utf8'), winner);
    }
    assert.deepEqual(await readdir(place.drafts), []);
  });

  it('places nothing when others told of the same name for another owner, and keeps what was written for the next try', async () => {
    const since = last();
    await others.create([file('theirs', 'x', 'they')], since);
    const mine: NewFile = { path: 'mine', name: 'theirs', owner: 'we', text: 'mine' };
    const refused = await files.create([mine], since);
    assert.ok(refused.isStale);
    await assert.rejects(stat(path('mine')));
    const [draft] = refused.drafts;
    assert.ok(draft && 'temp' in draft);
    const made = await files.create([{ ...mine, draft }], refused.upTo);
    assert.ok(!made.isStale && made.outcomes[0]);
    assert.equal(await readFile(path('mine'), 'utf8'), 'mine');
    assert.deepEqual(await readdir(place.drafts), []);
  });

  it('places nothing when others told of a change that is no new file, or when nobody knows any more what they told', async () => {
    const since = last();
    await db.write((tx) => tx.run("INSERT INTO catalog_changes (path, writer) VALUES ('a/bundle.json', 'they')"));
    assert.ok((await files.create([file('after-change')], since)).isStale);
    assert.ok(!(await files.create([file('after-look')], last())).isStale);
    await db.write((tx) => tx.run('DELETE FROM catalog_changes WHERE seq < ?', last()));
    assert.ok((await files.create([file('after-gap')], since)).isStale);
    // Kept for the next try, which never comes here.
    assert.equal((await readdir(place.drafts)).length, 2);
    for (const name of await readdir(place.drafts)) await rm(join(place.drafts, name));
  });

  it('waits while another process holds the lock', async () => {
    const lock = new ProcessLock(place.lockPath);
    let isFree = false;
    const making = await lock.hold(async () => {
      const made = files.create([file('waits')], last());
      const drafted = async (): Promise<boolean> => (await readdir(place.drafts)).length > 0;
      while (!(await drafted()));
      await new Promise((resolve) => setTimeout(resolve, 20));
      await assert.rejects(stat(path('waits')));
      isFree = true;
      return [made.then((each) => ({ each, wasFree: isFree }))];
    });
    const { each, wasFree } = await making[0]!;
    assert.ok(wasFree && !each.isStale && each.outcomes[0]);
    await lock.close();
  });

  it('says why the system refused, for each file by itself', async () => {
    const made = await files.create([{ ...file('bad'), path: 'missing/bad' }, file('good')], last());
    assert.ok(!made.isStale);
    const [refused, placed] = made.outcomes;
    assert.equal(refused && 'code' in refused && refused.code, 'ENOENT');
    assert.ok(placed);
    assert.deepEqual(await readdir(place.drafts), []);
    const nowhere = new FileThread({ ...place, drafts: path('missing') });
    const undrafted = await nowhere.create([file('undrafted')], last());
    await nowhere.close();
    assert.ok(!undrafted.isStale);
    assert.equal((undrafted.outcomes[0] as { code?: string }).code, 'ENOENT');
    await assert.rejects(stat(path('undrafted')));
  });

  it('replaces a file as a whole, in a folder that it makes', async () => {
    for (const text of ['first', 'second']) {
      const stamp = await files.replace('made/file', text);
      assert.equal(await readFile(path('made/file'), 'utf8'), text);
      const { mtimeMs, size } = await stat(path('made/file'));
      assert.deepEqual(stamp, { mtimeMs, size });
    }
    assert.equal((await stat(path('made'))).mode & 0o777, 0o700);
    await assert.rejects(files.replace('made/file/below', 'x'), { code: 'ENOTDIR' });
    await assert.rejects(files.replace('made', 'x'), { code: 'EISDIR' });
    assert.equal(await readFile(path('made/file'), 'utf8'), 'second');
    assert.deepEqual(await readdir(place.drafts), []);
  });

  it('reads only what is not as it was known', async () => {
    await writeFile(path('known'), 'now');
    const { mtimeMs, size } = await stat(path('known'));
    const ask = () => files.look([{ path: 'known', mtimeMs, size }, { path: 'none' }, { path: 'drafts' }]);
    assert.deepEqual(await ask(), ['same', 'gone', 'gone']);
    await utimes(path('known'), 1, 1);
    assert.deepEqual((await ask())[0], { mtimeMs: 1000, size: 3, text: 'now' });
  });

  it('starts again after it was ended', async () => {
    await files.close();
    const made = await files.create([file('again')], last());
    assert.ok(!made.isStale && made.outcomes[0]);
    assert.equal(await readFile(path('again'), 'utf8'), 'again');
  });
});
