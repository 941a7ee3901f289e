import assert from 'node:assert/strict';
import { access, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { extract } from 'tar-stream';
import { insidePaths } from '../../schema/index.ts';
import { baseFolder } from './base-folder.ts';
import { planBase } from './base-plan.ts';
import { packBase } from './base-tar.ts';

const root = await mkdtemp(join(tmpdir(), 'oub-base-'));
after(() => rm(root, { recursive: true, force: true }));
const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

test('has all that runs in a sandbox, nothing of the host, and the same id for the same content', async () => {
  const plan = await planBase();
  const paths = new Set(plan.entries.map((entry) => entry.path));
  for (const path of Object.values(insidePaths)) assert.ok(path === insidePaths.home || paths.has(path), path);
  assert.ok(paths.has('/bin/sh') && paths.has('/etc/passwd') && paths.has('/tmp'));
  assert.ok([...paths].some((path) => path.includes('monty') && path.endsWith('.node')));
  assert.ok(!plan.entries.some((entry) => entry.kind === 'text' && entry.text.includes(process.cwd())));
  assert.equal((await planBase()).id, plan.id);
});

test('is made once, whole or not at all, also when several ask at the same time', async () => {
  const plan = await planBase();
  const parent = join(root, 'bases');
  const folders = await Promise.all([1, 2, 3].map(() => baseFolder(plan, parent)));
  assert.deepEqual(new Set(folders), new Set([join(parent, plan.id)]));
  assert.deepEqual(await readdir(parent), [plan.id]);
  assert.ok(((await stat(join(folders[0]!, insidePaths.node))).mode & 0o111) !== 0);
  assert.equal(await baseFolder(plan, parent, true), folders[0]);
  assert.deepEqual(await readdir(parent), [plan.id]);
});

test('without busybox it takes the commands that the machine has, and says so', async () => {
  const plan = await planBase({
    find: async (name) => {
      if (name === 'busybox') return undefined;
      if (await exists(`/usr/bin/${name}`)) return `/usr/bin/${name}`;
      return (await exists(`/bin/${name}`)) ? `/bin/${name}` : undefined;
    },
  });
  const paths = new Set(plan.entries.map((entry) => entry.path));
  assert.ok(paths.has('/bin/sh') && paths.has('/bin/ls') && !paths.has('/bin/busybox'));
  assert.match(plan.notes.join(), /busybox is not installed/);
  await assert.rejects(planBase({ find: async () => undefined }), { code: 'sandbox.unavailable' });
});

test('as a tar stream it belongs to root and holds the same', async () => {
  const plan = await planBase();
  const small = { ...plan, entries: plan.entries.filter((entry) => entry.kind !== 'copy' || entry.size < 1e6) };
  const seen = new Map<string, { uid?: number; text?: string }>();
  const reader = packBase(small).pipe(extract());
  for await (const entry of reader) {
    const parts: Buffer[] = [];
    for await (const part of entry) parts.push(part as Buffer);
    seen.set(`/${entry.header.name.replace(/\/$/, '')}`, {
      uid: entry.header.uid ?? -1,
      text: Buffer.concat(parts).toString(),
    });
  }
  assert.deepEqual(new Set(seen.keys()), new Set(small.entries.map((entry) => entry.path)));
  assert.ok([...seen.values()].every((entry) => entry.uid === 0));
  const supervisor = small.entries.find((entry) => entry.path === insidePaths.supervisor);
  assert.equal(
    seen.get(insidePaths.supervisor)?.text,
    await readFile(supervisor!.kind === 'copy' ? supervisor!.source : '', 'utf8'),
  );
});
