import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { until } from '../../test/kit/until.ts';
import { openSearchIndex, type SearchDoc, type SearchIndex } from './index.ts';
import { scan } from './search-scan.ts';

let folder: string;
let docs: Map<string, SearchDoc>;
let loaded: string[];
let problems: string[];
let open: SearchIndex[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oub-search-'));
  docs = new Map();
  loaded = [];
  problems = [];
  open = [];
});
afterEach(async () => {
  await Promise.all(open.map((index) => index.close()));
  await rm(folder, { recursive: true });
});

function doc(id: string, slug: string, more: Partial<SearchDoc> = {}): SearchDoc {
  const made = {
    id,
    slug,
    displayName: slug,
    tags: [],
    description: '',
    bundleSlug: 'b',
    modifiedAt: '2026-01-01T00:00:00.000Z',
    isEnabled: true,
    ...more,
  };
  return { ...made, stamp: JSON.stringify(made) };
}

function start(path = join(folder, 'index.db')): SearchIndex {
  const index = openSearchIndex({
    path,
    source: {
      known: () => docs.values(),
      load: async (ids) => {
        const found = ids.flatMap((id) => docs.get(id) ?? []);
        loaded.push(...found.map((each) => each.id));
        return found;
      },
    },
    onProblem: (problem) => problems.push(problem),
  });
  open.push(index);
  return index;
}

const ids = async (index: SearchIndex, text: string): Promise<string[]> =>
  (await index.query(text)).map((hit) => hit.id);
const fill = (count: number): void => {
  for (let i = 0; i < count; i++)
    docs.set(`id${i}`, doc(`id${i}`, `tool-${i}`, { description: `number ${i} of many` }));
};

describe('search index', () => {
  test('fills itself from the source before the first answer', async () => {
    fill(10);
    assert.deepEqual(await ids(start(), 'tool-7'), ['id7']);
    assert.equal(loaded.length, 10);
  });

  test('its file does not grow with what is put again as it was, nor with what is switched on and off', async () => {
    fill(100);
    const index = start();
    await index.query('tool');
    for (let i = 0; i < 50; i++) await index.put([...docs.values()]);
    const changes = (): number => {
      const db = new DatabaseSync(join(folder, 'index.db'), { readOnly: true });
      const { n } = db.prepare('SELECT count(*) AS n FROM changes').get() as { n: number };
      db.close();
      return n;
    };
    await until(() => changes() === 100);
    for (let i = 0; i < 60; i++)
      await index.put(
        Array.from(docs.values(), (each) => doc(each.id, each.slug, { ...each, isEnabled: i % 2 === 0 })),
      );
    await until(() => changes() < 100);
    assert.equal((await index.query('tool', { limit: 256, includeDisabled: true })).length, 100);
  });

  test('a search that is asked for after a put finds it, after a remove does not', async () => {
    const index = start();
    await index.sync();
    void index.put([doc('a', 'alpha')]);
    assert.deepEqual(await ids(index, 'alhpa'), ['a']);
    void index.remove(['a']);
    assert.deepEqual(await ids(index, 'alpha'), []);
  });

  test('a second start loads nothing when nothing changed, and only what changed otherwise', async () => {
    fill(1200);
    const first = start();
    assert.deepEqual(await first.sync(), { loaded: 1200, removed: 0 });
    const late = doc('late', 'latecomer');
    docs.set('late', late);
    await first.put([late]);
    await first.close();
    loaded = [];
    const second = start();
    assert.deepEqual(await second.sync(), { loaded: 0, removed: 0 });
    assert.deepEqual(await ids(second, 'latecomer'), ['late']);
    await second.close();
    docs.delete('id5');
    docs.set('id6', doc('id6', 'changed'));
    docs.set('new', doc('new', 'brandnew'));
    const third = start();
    assert.deepEqual(await third.sync(), { loaded: 2, removed: 1 });
    assert.deepEqual(loaded.sort(), ['id6', 'new']);
    assert.deepEqual(await ids(third, 'changed'), ['id6']);
    assert.ok(!(await ids(third, 'tool-5')).includes('id5'));
    assert.deepEqual(problems, []);
  });

  test('a damaged, foreign or missing file is built again with the same answers', async () => {
    fill(600);
    const path = join(folder, 'index.db');
    const first = start();
    await first.sync();
    await first.close();
    const expected = scan(docs.values(), 'tool-1');
    const good = await readFile(path);
    const halfBroken = Buffer.from(good);
    halfBroken.fill(0x55, Math.floor(good.length / 2), Math.floor(good.length / 2) + 4096);
    for (const bytes of [
      Buffer.from('this is no database, and it is long enough to be looked at as one. '.repeat(100)),
      halfBroken,
      good.subarray(0, good.length / 2),
      Buffer.alloc(0),
    ]) {
      await rm(`${path}-wal`, { force: true });
      await rm(`${path}-shm`, { force: true });
      await writeFile(path, bytes);
      const again = start();
      assert.deepEqual(await again.query('tool-1'), expected);
      await again.close();
    }
  });

  test('a file that another process holds is waited for and left as it is', async () => {
    fill(3);
    const path = join(folder, 'index.db');
    const holder = new DatabaseSync(path);
    holder.exec('CREATE TABLE of_another (x); BEGIN; SELECT * FROM of_another');
    const { ino } = await stat(path);
    setTimeout(() => holder.exec('ROLLBACK'), 300);
    const index = start();
    assert.deepEqual(await ids(index, 'tool-2'), ['id2']);
    assert.deepEqual(problems, []);
    assert.equal((await stat(path)).ino, ino);
    holder.close();
  });

  test('a place that cannot be written costs nothing but the file', async () => {
    fill(3);
    // A folder lies in the place of the second one.
    for (const path of [join(folder, 'no', 'such', 'folder', 'index.db'), folder]) {
      problems.length = 0;
      assert.deepEqual(await ids(start(path), 'tool-2'), ['id2']);
      assert.match(problems.join('\n'), /^the search index is kept in memory only: [^\n]*$/);
    }
    assert.ok((await stat(folder)).isDirectory());
  });

  test('what changes while a sync is loading is not overwritten by what was loaded', async () => {
    docs.set('a', doc('a', 'older'));
    const index = openSearchIndex({
      path: join(folder, 'index.db'),
      source: {
        known: () => docs.values(),
        load: async () => {
          const before = [...docs.values()];
          docs.set('a', doc('a', 'newer'));
          await index.put([doc('a', 'newer')]);
          return before;
        },
      },
      onProblem: (problem) => problems.push(problem),
    });
    open.push(index);
    await index.sync();
    assert.deepEqual(await ids(index, 'newer'), ['a']);
    assert.deepEqual(await ids(index, 'older'), []);
  });

  test('a thread that dies while it is filled is filled again, and searches wait for no longer than that', async () => {
    docs.set('1', doc('1', 'weather'));
    const workers: Worker[] = [];
    const note = (worker: Worker): void => void workers.push(worker);
    process.on('worker', note);
    let isKilled = false;
    const index = openSearchIndex({
      path: join(folder, 'index.db'),
      source: {
        known: () => docs.values(),
        load: async (wanted) => {
          if (wanted.length > 0 && !isKilled) {
            isKilled = true;
            // What is loaded is on its way to the thread when that ends.
            void workers[0]!.terminate();
          }
          return wanted.flatMap((id) => docs.get(id) ?? []);
        },
      },
      onProblem: (problem) => problems.push(problem),
    });
    open.push(index);
    const found = await Promise.race([ids(index, 'weather'), sleep(10_000, 'none in ten seconds', { ref: false })]);
    process.off('worker', note);
    assert.deepEqual(found, ['1']);
    assert.equal(workers.length, 2);
  });

  test('what is asked of a thread that dies is asked of the next one', async () => {
    docs.set('1', doc('1', 'weather'));
    const workers: Worker[] = [];
    const note = (worker: Worker): void => void workers.push(worker);
    process.on('worker', note);
    const index = start();
    for (const ask of ['query', 'rank'] as const) {
      await index.sync();
      const worker = workers.at(-1)!;
      worker.postMessage = () => void worker.terminate();
      assert.deepEqual(
        (await index[ask]('weather')).map((hit) => hit.id),
        ['1'],
      );
    }
    process.off('worker', note);
    assert.equal(workers.length, 3);
  });

  test('two processes of one home share the file', async () => {
    fill(700);
    const [one, two] = [start(), start()];
    await Promise.all([one.sync(), two.sync()]);
    const fresh = doc('fresh', 'freshly');
    docs.set('fresh', fresh);
    await Promise.all([one.put([fresh]), two.put([fresh])]);
    await Promise.all([one.close(), two.close()]);
    loaded = [];
    const three = start();
    await three.sync();
    assert.deepEqual(await ids(three, 'freshly'), ['fresh']);
    assert.equal((await three.query('tool')).length, 256);
  });

  test('ranks by relevance, tolerant of typos and endings, without needing every word', async () => {
    docs.set('w', doc('w', 'getForecast', { description: 'Weather for the next days in a city' }));
    docs.set('t', doc('t', 'translate', { description: 'Translates text between languages' }));
    docs.set('c', doc('c', 'city-list', { description: 'Lists cities' }));
    const index = start();
    const top = async (text: string): Promise<string | undefined> => (await index.rank(text))[0]?.id;
    assert.equal(await top('what will the weather be like tomorrow?'), 'w');
    assert.equal(await top('forecasts please'), 'w');
    assert.equal(await top('I need a translation of this letter'), 't');
    assert.equal(await top('tarnslate'), 't');
    assert.deepEqual(await index.rank('xyzzy'), []);
    assert.ok((await index.rank('weather')).every((hit) => hit.score > 0));
  });

  test('a closed index refuses further questions', async () => {
    const index = start();
    await index.sync();
    await index.close();
    await assert.rejects(index.query('x'), /closed/);
  });
});
