import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { startTestServer, type TestServer } from '../test/kit/running-server.ts';
import type { Row } from './measure.ts';

export const about =
  'tokens (o200k) of tools/list and instructions on /mcp/run with 10, 1,000 and 125,000 tools behind it, and of a search answer.';

const many = join(import.meta.dirname, 'lean', 'many-tools.ts');
const queries = ['number 7', 'resize an image', 'send a message', 'list files', 'weather'];

export async function bench(): Promise<Row[]> {
  const rows: Row[] = [];
  for (const count of [10, 1_000, 125_000]) {
    const home = await mkdtemp(join(tmpdir(), 'oub-'));
    const per = Math.min(count, 20_000);
    const servers = Object.fromEntries(
      Array.from({ length: Math.ceil(count / per) }, (_, at) => [
        `many${at}`,
        { command: process.execPath, args: [many, String(Math.min(per, count - at * per)), String(at)] },
      ]),
    );
    await writeFile(join(home, 'config.yaml'), JSON.stringify({ servers }));
    const server = await startTestServer({ home });
    try {
      await connected(server, count);
      rows.push({
        what: `menu and instructions, ${count.toLocaleString('en')} tools`,
        unit: 'tokens',
        ours: [await menuTokens(server)],
        goal: { of: 'value', atMost: 600 },
      });
      const answers = await Promise.all(
        queries.map(async (query) => encode(await ask(server, `ot.help(query=${JSON.stringify(query)})`)).length),
      );
      rows.push({
        what: `a search answer, ${count.toLocaleString('en')} tools`,
        unit: 'tokens',
        ours: answers,
        goal: { of: 'value', atMost: 600 },
      });
    } finally {
      await server.stop();
      await rm(home, { recursive: true, force: true });
    }
  }
  return rows;
}

const rpc = async (server: TestServer, message: object): Promise<any> => {
  const answer = await server.fetch('/mcp/run', {
    method: 'POST',
    headers: { accept: 'application/json, text/event-stream' },
    json: { jsonrpc: '2.0', id: 1, ...message },
  });
  return JSON.parse(/^data: (.*)$/m.exec(await answer.text())?.[1] ?? '{}').result;
};

/** What a model reads: the tools as JSON, and the instructions. */
async function menuTokens(server: TestServer): Promise<number> {
  const { instructions } = await rpc(server, {
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'b', version: '1' } },
  });
  const { tools } = await rpc(server, { method: 'tools/list' });
  return encode(JSON.stringify(tools)).length + encode(instructions).length;
}

async function ask(server: TestServer, code: string): Promise<string> {
  const { content } = await rpc(server, { method: 'tools/call', params: { name: 'run', arguments: { code } } });
  return content[0].text as string;
}

async function connected(server: TestServer, count: number): Promise<void> {
  for (let i = 0; i < 1200; i++) {
    const answer = (await (await server.fetch('/call/server_list', { method: 'POST', json: { args: {} } })).json()) as {
      value: { servers: { tools: number }[] };
    };
    if (answer.value.servers.reduce((sum, each) => sum + each.tools, 0) >= count) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error('the tools did not arrive');
}
