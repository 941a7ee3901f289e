import assert from 'node:assert/strict';
import { createReadStream } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { after, before, describe, test } from 'node:test';
import { build } from 'esbuild';
import { pack } from 'tar-stream';
import { acpDriver } from '../../src/agents/index.ts';
import { neededLibraries } from '../../src/sandbox/base/libraries.ts';
import { hostAgent } from '../kit/agent-in-sandbox.ts';
import { openTestDriver, testDrivers, type TestDriver } from '../kit/sandboxes.ts';
import { scriptedModel } from '../kit/scripted-model.ts';

const drivers = await testDrivers();
const require = createRequire(import.meta.url);

const config = `model = "scripted"
model_provider = "oubliette"
[model_providers.oubliette]
name = "oubliette"
base_url = "http://127.0.0.1:4780/v1"
wire_api = "responses"
`;

/** codex-acp and the libraries that the base does not have, as the files beside a Dockerfile. */
async function codexContext(): Promise<Readable> {
  const program = require.resolve(`@zed-industries/codex-acp-linux-${process.arch}/bin/codex-acp`);
  const tar = pack();
  const add = async (name: string, path: string): Promise<void> =>
    pipeline(createReadStream(path), tar.entry({ name, size: (await stat(path)).size, mode: 0o755 }));
  const fill = async (): Promise<void> => {
    tar.entry({ name: 'Dockerfile' }, 'FROM oubliette-base\nCOPY codex-acp /usr/local/bin/codex-acp\nCOPY lib /\n');
    await add('codex-acp', program);
    for (const library of await neededLibraries(program)) await add(join('lib', library), await realpath(library));
    tar.finalize();
  };
  fill().catch((error: Error) => tar.destroy(error));
  return Readable.from(tar);
}

for (const name of drivers)
  describe(`codex-acp in a ${name} sandbox without a network`, () => {
    let kit: TestDriver;
    before(async () => {
      kit = await openTestDriver(name);
      await kit.driver.buildImage('oubliette-codex:1', await codexContext());
    });
    after(() => kit.close());

    test('does a whole turn with a tool call, against a model behind /mcp/model.sock', async (t) => {
      const spec = await kit.spec({
        image: 'oubliette-codex:1',
        level: 'strict',
        limits: { memoryMb: 1024, pids: 256, cpus: 2 },
      });
      const model = await scriptedModel(
        [{ call: 'ant_add', arguments: { a: 2, b: 3 } }, { text: 'The sum is 5.' }],
        join(spec.mcp, 'model.sock'),
      );
      t.after(() => model.close());
      await build({
        entryPoints: [new URL('../../src/agents/fixtures/tool-server.ts', import.meta.url).pathname],
        bundle: true,
        platform: 'node',
        format: 'esm',
        outfile: join(spec.workspace, 'tools.mjs'),
        logLevel: 'silent',
      });
      const mcpServers = [{ name: 'oubliette', command: '/usr/bin/node', args: ['/workspace/tools.mjs'], env: {} }];
      const host = await hostAgent({
        sandbox: spec,
        config: { driver: 'acp', command: '/usr/local/bin/codex-acp' },
        spec: { mcpServers },
        agent: { files: { '.codex/config.toml': config } },
      });
      t.after(() => host.link.close());
      await kit.driver.start(spec);
      host.do((state) => acpDriver.prompt(state, { text: 'Add 2 and 3.' }));
      const end = await host.until((event) => event.type === 'completion');
      assert.deepEqual(end, { type: 'completion', stop_reason: 'end_turn', text: 'The sum is 5.' });
      const calls = host.kept.events.filter((event) => event.type === 'tool_call' || event.type === 'tool_result');
      assert.deepEqual(calls, [
        { type: 'tool_call', call_id: 'call_1', tool: 'ant_add', arguments: { a: 2, b: 3 } },
        { type: 'tool_result', call_id: 'call_1', is_error: false, text: '{"sum":5}' },
      ]);
      assert.deepEqual(
        model.requests.map((request) => request.path),
        ['/v1/responses', '/v1/responses'],
      );
      await kit.driver.remove(spec.id);
    });

    test('its transcript is resumed in a new sandbox on the same spool', async (t) => {
      const spec = await kit.spec({ image: 'oubliette-codex:1', limits: { memoryMb: 1024, pids: 256, cpus: 2 } });
      const model = await scriptedModel(
        [{ text: 'My word is plum.' }, { text: 'As I said: plum.' }],
        join(spec.mcp, 'model.sock'),
      );
      t.after(() => model.close());
      const codex = { driver: 'acp' as const, command: '/usr/local/bin/codex-acp' };
      const files = { '.codex/config.toml': config };
      const first = await hostAgent({ sandbox: spec, config: codex, agent: { files } });
      await kit.driver.start(spec);
      first.do((state) => acpDriver.prompt(state, { text: 'Say a word.' }));
      await first.until((event) => event.type === 'completion');
      await kit.driver.remove(spec.id);
      const kept = await first.crash();
      const state = acpDriver.open({
        config: codex,
        cwd: '/workspace',
        mcpServers: [],
        permissions: 'auto',
        resume: kept.state.agentSession!,
      }).state;
      const second = await hostAgent({ sandbox: spec, config: codex, kept: { ...kept, state, events: [] } });
      t.after(() => second.link.close());
      second.link.send({
        id: 'start again',
        do: 'start',
        agent: { command: [codex.command], cwd: '/workspace', env: {}, files },
      });
      await kit.driver.start(spec);
      second.do((each) => acpDriver.prompt(each, { text: 'Which word was it?' }));
      await second.until((event) => event.type === 'completion');
      assert.equal(second.kept.state.resumeFailed, undefined);
      assert.match(JSON.stringify(model.requests.at(-1)?.body.input), /My word is plum/);
      await kit.driver.remove(spec.id);
    });
  });
