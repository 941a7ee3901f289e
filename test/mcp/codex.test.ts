import { test } from 'node:test';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { oubliette, startTestServer } from '../kit/running-server.ts';
import { scriptedModel } from '../kit/scripted-model.ts';

const require = createRequire(import.meta.url);
type Message = { id?: number; method?: string; params?: any; result?: any; error?: any };

/** One turn of the real codex, spoken to over ACP, with the settings that lie in `home`. */
async function turn(home: string, text: string): Promise<void> {
  const program = require.resolve(`@zed-industries/codex-acp-linux-${process.arch}/bin/codex-acp`);
  const child = spawn(program, [], {
    cwd: home,
    env: { PATH: process.env['PATH'], HOME: home, CODEX_HOME: join(home, '.codex'), OPENAI_API_KEY: 'none' },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const waiting = new Map<number, { resolve(result: any): void; reject(error: Error): void }>();
  const say = (message: object): void => void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const ask = (id: number, method: string, params: object): Promise<any> => {
    say({ id, method, params });
    return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
  };
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { id, method, params, result, error } = JSON.parse(line) as Message;
    if (method === 'session/request_permission') {
      const yes =
        params.options.find((option: { kind: string }) => option.kind.startsWith('allow')) ?? params.options[0];
      return say({ id, result: { outcome: { outcome: 'selected', optionId: yes.optionId } } });
    }
    if (method !== undefined && id !== undefined) return say({ id, error: { code: -32601, message: 'not here' } });
    const one = method === undefined && id !== undefined ? waiting.get(id) : undefined;
    if (error) one?.reject(new Error(JSON.stringify(error)));
    else one?.resolve(result);
  });
  try {
    await ask(1, 'initialize', { protocolVersion: 1, clientCapabilities: {} });
    const { sessionId } = await ask(2, 'session/new', { cwd: home, mcpServers: [] });
    await ask(3, 'session/prompt', { sessionId, prompt: [{ type: 'text', text }] });
  } finally {
    child.kill('SIGKILL');
  }
}

test('codex, set up by `oubliette setup codex`, calls run and gets the answer', { timeout: 280_000 }, async () => {
  const server = await startTestServer();
  const home = await mkdtemp(join(tmpdir(), 'codex-'));
  const model = await scriptedModel([
    { call: 'run', arguments: { code: 'print("computed"); 20 + 22' } },
    { text: 'It is 42.' },
  ]);
  try {
    await mkdir(join(home, '.codex'));
    const settings = `model = "scripted"\nmodel_provider = "scripted"\n\n[model_providers.scripted]\nname = "scripted"\nbase_url = "${model.url}"\nwire_api = "responses"\n`;
    await writeFile(join(home, '.codex', 'config.toml'), settings);
    const setup = await oubliette(['setup', 'codex', '--home', server.home, '--json'], {
      env: { HOME: home, CODEX_HOME: '' },
    });
    assert.equal(setup.code, 0, setup.err);
    await turn(home, 'What is 20 + 22?');
    const seen = JSON.stringify(model.requests.at(-1)?.body.input);
    assert.match(seen, /computed\\+n42/, seen?.slice(0, 2000));
  } finally {
    await model.close();
    await server.stop();
    await rm(home, { recursive: true, force: true });
  }
});
