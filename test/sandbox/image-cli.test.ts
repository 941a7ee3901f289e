import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { oubliette, startTestServer } from '../kit/running-server.ts';

test('an image is built by the command line and used by a project; over HTTP it is refused', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'oub-image-'));
  const server = await startTestServer({ env: { DOCKER_HOST: 'unix:///nowhere', CONTAINER_HOST: 'unix:///nowhere' } });
  t.after(async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });
  await writeFile(join(folder, 'Dockerfile'), 'FROM oubliette-base\nCOPY greeting /greeting\n');
  await writeFile(join(folder, 'greeting'), 'hello from the image');
  const cli = (...args: string[]): ReturnType<typeof oubliette> =>
    oubliette([...args, '--json', '--home', server.home]);

  const built = await cli('project', 'image', folder, 'greeter:1');
  assert.equal(built.code, 0, built.err + built.out);
  assert.equal(built.json.image, 'greeter:1');
  const call = (name: string, args: object): Promise<Response> =>
    server.fetch(`/call/${name}`, { method: 'POST', json: { args } });
  const refused = await call('image_build', { folder, image: 'greeter:2' });
  assert.equal(refused.status, 403);
  assert.equal(((await refused.json()) as any).error.code, 'remote_config.refused');

  const made = (await (
    await call('project_create', { name: 'greeter', sandbox: { image: 'greeter:1' } })
  ).json()) as any;
  const said = (await (
    await call('container_exec', { project_id: made.value.id, command: 'cat /greeting' })
  ).json()) as any;
  assert.equal(said.value.stdout, 'hello from the image');
  const missing = await cli('project', 'image', join(folder, 'none'), 'greeter:3');
  assert.equal(missing.code, 1);
  assert.match(missing.err + missing.out, /no Dockerfile/);
});
