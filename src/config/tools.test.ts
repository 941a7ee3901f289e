import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Actor, Call, Failure } from '../schema/index.ts';
import { openConfig, settingsTools, type ConfigRoom } from './index.ts';

let folder: string;
let config: ConfigRoom;
const admin: Actor = { kind: 'token', door: 'web', principal: 'local', level: 'admin', tokenId: 'tok_1' };

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oub-settings-'));
  config = await openConfig({
    config: join(folder, 'config.yaml'),
    prompts: join(folder, 'prompts.yaml'),
    run: folder,
  });
});
after(async () => {
  config.close();
  await rm(folder, { recursive: true, force: true });
});

const run = (slug: string, args: Record<string, unknown>, actor = admin): Promise<any> =>
  Promise.resolve(
    settingsTools(config)
      .tools.find((tool) => tool.slug === slug)!
      .run(args, { actor } as Call),
  );
const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'ok',
    (error: Failure) => error.code,
  );

describe('settings tools', () => {
  test('set a value in the file and answer what then holds', async () => {
    const answer = await run('set', { path: ['limits', 'depth'], value: 2 });
    assert.equal(answer.settings.limits.depth, 2);
    assert.match(await readFile(join(folder, 'config.yaml'), 'utf8'), /depth: 2/);
    assert.equal((await run('get', {})).settings.limits.depth, 2);
  });

  test('remove a value, so that its default holds again', async () => {
    await run('set', { path: ['limits', 'depth'] });
    assert.equal(config.current().limits.depth, 3);
  });

  test('refuse a result that is not valid and keep the file', async () => {
    const before = await readFile(join(folder, 'config.yaml'), 'utf8');
    assert.equal(await codeOf(run('set', { path: ['limits', 'depth'], value: 'deep' })), 'config.invalid');
    assert.equal(await readFile(join(folder, 'config.yaml'), 'utf8'), before);
  });

  test('leave what can run commands on the machine to the machine', async () => {
    for (const path of [
      ['servers', 'x'],
      ['servers'],
      ['agents', 'default'],
      ['include'],
      ['fs', 'root'],
      ['http'],
      ['http', 'allowRemoteConfig'],
      ['stats', 'reportDirs'],
      ['notify', 'topics', 0],
    ])
      assert.equal(await codeOf(run('set', { path, value: {} })), 'remote_config.refused', path.join('.'));
    assert.equal(await codeOf(run('set', { path: ['fs', 'root'], value: '/tmp' }, { ...admin, door: 'cli' })), 'ok');
  });

  test('refuse keys that were granted to a session', async () => {
    assert.equal(
      await codeOf(run('set', { path: ['limits', 'depth'], value: 1 }, { ...admin, isGranted: true })),
      'scope.denied',
    );
  });
});
