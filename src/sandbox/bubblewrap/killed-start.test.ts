import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { until } from '../../../test/kit/until.ts';
import type { SandboxSpec } from '../driver.ts';
import { markedWith } from './box-files.ts';
import { bubblewrapDriver } from './bubblewrap.ts';

const driverFile = new URL('./bubblewrap.ts', import.meta.url).href;

async function place(t: TestContext): Promise<{ folder: string; spec: SandboxSpec }> {
  const root = await mkdtemp(join(tmpdir(), 'oubks-'));
  t.after(() => rm(root, { recursive: true, force: true }));
  const folders = { workspace: join(root, 'w'), mcp: join(root, 'm'), spool: join(root, 's') };
  for (const each of Object.values(folders)) await mkdir(each);
  const id = `box_k${process.pid}_${root.slice(-6)}`;
  const limits = { memoryMb: 512, pids: 64, cpus: 2 };
  return { folder: join(root, 'run'), spec: { id, labels: { test: id }, ...folders, env: {}, limits, level: 'basic' } };
}

test('a sandbox whose server is killed while it starts is found and ended by the next one', async (t) => {
  const { folder, spec } = await place(t);
  const programs = join(folder, '..', 'bin');
  await mkdir(programs);
  // Slow, so that the server is killed for sure before the start is over.
  const slow = '#!/bin/sh\n[ "$1" = --args ] && sleep 2\nPATH=/usr/local/bin:/usr/bin:/bin exec bwrap "$@"\n';
  await writeFile(join(programs, 'bwrap'), slow, { mode: 0o755 });
  const code = `const { bubblewrapDriver } = await import(${JSON.stringify(driverFile)});
    process.env.PATH = ${JSON.stringify(`${programs}:`)} + process.env.PATH;
    await bubblewrapDriver({ folder: ${JSON.stringify(folder)} }).start(${JSON.stringify(spec)});`;
  const server = spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const exited = once(server, 'exit');
  await until(async () => (await markedWith(spec.id)).length > 0);
  server.kill('SIGKILL');
  await exited;

  const next = bubblewrapDriver({ folder });
  t.after(() => next.close());
  assert.deepEqual(
    (await next.list({ test: spec.id })).map(({ id }) => id),
    [spec.id],
  );
  await next.remove(spec.id);
  assert.deepEqual(await markedWith(spec.id), []);
  assert.deepEqual(await next.list(), []);
});

test('a sandbox of which nothing can be kept is ended again', async (t) => {
  const { folder, spec } = await place(t);
  const driver = bubblewrapDriver({ folder });
  t.after(() => driver.close());
  await mkdir(join(folder, 'boxes', spec.id, 'box.json'), { recursive: true });
  await assert.rejects(driver.start(spec));
  assert.deepEqual(await markedWith(spec.id), []);
  await assert.rejects(access(join(folder, 'boxes', spec.id)));
});
