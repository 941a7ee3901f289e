import assert from 'node:assert/strict';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { testServer, type TestServer } from '../kit/server.ts';
import { until } from '../kit/until.ts';

let server: TestServer;
before(async () => {
  const home = await mkdtemp(join(tmpdir(), 'oub-'));
  await mkdir(join(home, 'packs'), { mode: 0o700 });
  const source = `
    export async function self(args, call) {
      const outcome = await call.invoke('again_self', { depth: args.depth + 1 });
      if (!outcome.ok) throw new Error(outcome.error.message);
      return outcome.value;
    }
    self.tool = { description: 'calls itself', argSchema: { type: 'object' }, access: 'read' };
    export async function wait() {
      await new Promise((resolve) => setTimeout(resolve, 100));
      return 'waited';
    }
    wait.tool = { description: 'takes a moment', argSchema: { type: 'object' }, access: 'read' };
    export function deep(args) {
      let value = [];
      for (let i = 0; i < 50_000; i++) value = [value];
      return value;
    }
    deep.tool = { description: 'answers a deep list', argSchema: { type: 'object' }, access: 'read' };`;
  await writeFile(join(home, 'packs', 'again.js'), source, { mode: 0o600 });
  server = await testServer({ home });
});
after(() => server.remove());

test('a tool that calls itself is ended by name, and the server goes on', async () => {
  const { ok, error } = await server.call('again_self', { depth: 0 });
  assert.equal(ok, false);
  assert.match(error.message, /Calls are nested more than 32 deep\. Does again_self call itself\?/);
  assert.equal((await server.call('demo_foo', { text: 'hello' })).value, 'green');
});

test('a program that calls such a tool gets the same as an exception', async () => {
  const { value } = await server.call('run', {
    code: 'try:\n  again.self(depth=0)\nexcept RuntimeError as e:\n  said = str(e)\nsaid',
  });
  assert.match(value, /nested more than 32 deep/);
});

test('an answer that is nested without end is refused by name', async () => {
  // With a secret in the store every answer is walked through.
  await server.call('secret_set', { name: 'WALKED', value: 'not in the answer' });
  const { ok, error } = await server.call('again_deep', {});
  assert.equal(ok, false);
  assert.match(error.message, /nested too deeply|nested more than/);
  assert.equal((await server.call('demo_foo', { text: 'hello' })).value, 'green');
});

test('a program makes no further calls once its token is over', async () => {
  const brief = (await server.call('token_create', { name: 'brief', scope: 'read' })).value;
  const code =
    'seen = ""\nfor i in range(900):\n  try:\n    again.wait()\n  except PermissionError as e:\n    seen = str(e)\n    break\nseen';
  const running = server.call('run', { code }, brief.token);
  const calls = async (): Promise<number> =>
    (await server.call('run', { code: 'ot.stats(tool="again.wait")["total_calls"]' })).value;
  await until(async () => Number(await calls()) > 0, 30_000);
  await server.call('token_revoke', { token_id: brief.id });
  assert.match((await running).value, /not valid, has expired or was revoked/);
});
