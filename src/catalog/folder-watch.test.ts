import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { FolderWatch } from './folder-watch.ts';

describe('a watched folder', () => {
  let root: string;
  let watch: FolderWatch;
  let heard: string[] = [];
  let wake: () => void = () => {};
  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'oub-watch-'));
    await mkdir(join(root, 'in'));
    watch = new FolderWatch(root, (paths) => {
      heard.push(...paths);
      wake();
    });
    watch.add('in');
  });
  after(async () => {
    watch.close();
    await rm(root, { recursive: true });
  });

  /** What is heard up to and with a file that nobody expects. */
  const heardUntil = async (path: string): Promise<string[]> => {
    await writeFile(join(root, path), '');
    while (!heard.includes(path)) await new Promise<void>((resolve) => (wake = resolve));
    const all = heard.filter((each) => each !== path);
    heard = [];
    return all;
  };
  const appear = async (path: string): Promise<void> => {
    await writeFile(join(root, 'draft'), 'x');
    await rename(join(root, 'draft'), join(root, path));
  };

  it('tells of a file that appears, and not of one that is expected', async () => {
    await appear('in/one');
    assert.deepEqual(await heardUntil('in/end-1'), ['in/one']);
    watch.expect('in/two');
    await appear('in/two');
    assert.deepEqual(await heardUntil('in/end-2'), []);
  });

  it('tells of what happens to an expected file after it appeared', async () => {
    for (const [name, then] of [
      ['edited', (path: string) => writeFile(path, 'by hand')],
      ['replaced', () => appear('in/replaced')],
      ['removed', (path: string) => rm(path)],
    ] as const) {
      watch.expect(`in/${name}`);
      await appear(`in/${name}`);
      await then(join(root, 'in', name));
      assert.deepEqual(await heardUntil(`in/end-${name}`), [`in/${name}`]);
    }
  });

  it('tells of an expected file when it is asked to, once it did not appear by our hand', async () => {
    watch.expect('in/taken');
    watch.touch('in/taken');
    assert.deepEqual(await heardUntil('in/end-3'), ['in/taken']);
    await appear('in/taken');
    assert.deepEqual(await heardUntil('in/end-4'), ['in/taken']);
  });
});
