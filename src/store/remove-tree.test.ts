import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openFolderAt } from './inside-folder.ts';
import { removeBelow, removeTree } from './remove-tree.ts';

/** Step by step, because no path can name the last of them. */
const dig = `const name = 'n'.repeat(60);
  for (let i = 0; i < 250; i++) { require('fs').mkdirSync(name); process.chdir(name); }
  require('fs').writeFileSync('bottom', 'x');`;

async function thicket(): Promise<string> {
  const outer = await mkdtemp(join(tmpdir(), 'oub-tree-'));
  const inner = join(outer, 'tree');
  await mkdir(join(inner, 'shut', 'inside'), { recursive: true });
  await writeFile(join(outer, 'kept'), 'kept');
  await symlink(outer, join(inner, 'link'));
  execFileSync(process.execPath, ['-e', dig], { cwd: inner });
  await writeFile(Buffer.concat([Buffer.from(`${inner}/`), Buffer.from([0x61, 0xff])]), 'no text');
  await chmod(join(inner, 'shut'), 0);
  return outer;
}

test('removes a tree that no path can name the end of, and nothing behind its links', async () => {
  const outer = await thicket();
  await removeTree(join(outer, 'tree'));
  assert.deepEqual(await readdir(outer), ['kept']);
  await removeTree(outer);
  await removeTree(outer);
});

test('removes the same by a handle on its parent, and says when there is nothing', async () => {
  const outer = await thicket();
  const handle = await openFolderAt(outer);
  await removeBelow(handle, 'tree');
  assert.deepEqual(await readdir(outer), ['kept']);
  await assert.rejects(removeBelow(handle, 'tree'), { code: 'ENOENT' });
  await handle.close();
  await removeTree(outer);
});
