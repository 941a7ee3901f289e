import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTestServer } from '../test/kit/running-server.ts';
import { load } from './load.ts';
import { endGroup, freePort, openSession, startOn, type Endpoint } from './mcp-peer.ts';
import { interleave, type Row } from './measure.ts';
import { peer } from './peers.ts';

export const about =
  'tools/call of a lean stdio MCP server, behind us, behind other gateways, and behind its own bare HTTP.';

const lean = join(import.meta.dirname, 'lean', 'server.ts');
const proxyVersion = '6.7.19';
const gatewayVersion = '4.0.0';
const rounds = 5;
/** Before anything is measured: on either side as many as it takes until its code is compiled. */
const warmUp = 4000;

const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', arguments: { text: 'hello' } } };
const accept = { accept: 'application/json, text/event-stream' };

export async function bench(): Promise<Row[]> {
  const children: ChildProcess[] = [];
  const home = await mkdtemp(join(tmpdir(), 'oub-'));
  await writeFile(join(home, 'config.yaml'), `servers: { lean: { command: ${process.execPath}, args: [${lean}] } }\n`);
  // As quiet as the others are told to be.
  const server = await startTestServer({ home, args: ['--log', 'warn'] });
  try {
    const [directPort, proxyPort, gatewayPort] = await Promise.all([freePort(), freePort(), freePort()]);
    children.push(await startOn(directPort, process.execPath, [lean, String(directPort)]));
    children.push(
      await startOn(proxyPort, process.execPath, [
        bin('mcp-proxy', proxyVersion),
        '--port',
        String(proxyPort),
        '--server',
        'stream',
        '--',
        process.execPath,
        lean,
      ]),
    );
    children.push(
      await startOn(gatewayPort, process.execPath, [
        bin('supergateway', gatewayVersion),
        '--stdio',
        `${process.execPath} ${lean}`,
        '--outputTransport',
        'streamableHttp',
        '--stateful',
        '--port',
        String(gatewayPort),
        '--logLevel',
        'none',
      ]),
    );
    const direct: Endpoint = { url: `http://127.0.0.1:${directPort}`, path: '/', headers: {}, body: call };
    const ours = await opened(server.url, '/mcp/b/lean', { authorization: `Bearer ${server.token}` });
    const proxy = await opened(`http://127.0.0.1:${proxyPort}`, '/mcp');
    const gateway = await opened(`http://127.0.0.1:${gatewayPort}`, '/mcp');
    for (const side of [direct, ours, proxy, gateway]) await run(side, 8, warmUp);
    const rows: Row[] = [];
    for (const inFlight of [1, 8, 64]) {
      const speed = async (endpoint: Endpoint, requests: number) => (await run(endpoint, inFlight, requests)).perSecond;
      for (const side of [ours, proxy, gateway]) await run(side, inFlight, 500);
      // Each side for about as long, so that opening the connections weighs the same.
      const [most, fewer] = inFlight === 1 ? [3000, 1000] : [6000, 1500];
      const taken = await interleave(rounds, {
        ours: () => speed(ours, most),
        proxy: () => speed(proxy, fewer),
        gateway: () => speed(gateway, fewer),
      });
      const best = taken.proxy.map((value, at) => Math.max(value, taken.gateway[at] ?? 0));
      rows.push({
        what: `calls, ${inFlight} in flight`,
        unit: 'calls/s',
        ours: taken.ours,
        other: best,
        otherName: 'better of mcp-proxy, supergateway',
        goal: { of: 'ratio', atLeast: inFlight === 1 ? 2 : 5 },
      });
    }
    const p50 = await interleave(rounds, {
      ours: async () => (await run(ours, 1, 1500)).p50,
      direct: async () => (await run(direct, 1, 1500)).p50,
    });
    const added = p50.ours.map((value, at) => value - (p50.direct[at] ?? 0));
    rows.push({
      what: 'added p50 of one call',
      unit: 'ms',
      ours: added,
      other: p50.direct,
      otherName: 'the direct call',
      goal: { of: 'ratio', atMost: 2 },
    });
    return rows;
  } finally {
    await Promise.all(children.map(endGroup));
    await server.stop();
    await rm(home, { recursive: true, force: true });
  }
}

const opened = (url: string, path: string, headers = {}): Promise<Endpoint> =>
  openSession(url, path, { ...accept, ...headers }, call, 'hello');

/** Every line has a request id of its own: in one session they must not be the same at the same time. */
async function run(
  { url, path, headers, body }: Endpoint,
  inFlight: number,
  requests: number,
): Promise<{ perSecond: number; p50: number }> {
  const check = (text: string, status: number): void => {
    if (status !== 200 || !text.includes('hello')) throw new Error(`${url} answered ${status}: ${text.slice(0, 200)}`);
  };
  const each = Math.ceil(requests / inFlight);
  const startedAt = performance.now();
  const lines = Array.from({ length: inFlight }, (_, at) =>
    load({ url, path, headers, body: { ...body, id: at + 1 }, inFlight: 1, requests: each, check }),
  );
  const done = await within(60_000, Promise.all(lines), url);
  return { perSecond: (each * inFlight) / ((performance.now() - startedAt) / 1000), p50: done[0]?.p50 ?? 0 };
}

async function within<T>(ms: number, work: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>(
    (_, reject) => (timer = setTimeout(() => reject(new Error(`${what} did not finish in ${ms} ms`)), ms)),
  );
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

function bin(name: string, version: string): string {
  const folder = peer(name, version);
  const { bin: programs } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    bin: string | Record<string, string>;
  };
  return join(folder, typeof programs === 'string' ? programs : (programs[name] ?? Object.values(programs)[0] ?? ''));
}
