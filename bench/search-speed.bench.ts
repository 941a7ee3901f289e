import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startTestServer, type TestServer } from '../test/kit/running-server.ts';
import { largeHome, operations } from './large-home.ts';
import { load } from './load.ts';
import { percentile, type Row } from './measure.ts';

export const about = 'search over 1,000, 10,000 and 125,000 tools, every third query with a typo; cold build beside it';

export async function bench(): Promise<Row[]> {
  const rows: Row[] = [];
  const asked = await queries(300);
  for (const count of [1000, 10_000, 125_000]) {
    const home = await largeHome(count);
    const startedAt = performance.now();
    const server = await startTestServer({
      home,
      args: ['--log', 'warn'],
      nodeFlags: ['--import', join(import.meta.dirname, 'loop-delay.ts')],
    });
    try {
      await built(server, asked[0]!);
      const builtMs = performance.now() - startedAt;
      const label = count.toLocaleString('en');
      server.process.kill('SIGUSR2');
      const rounds = await measure(server, asked);
      const blocked = await loopDelay(server);
      rows.push({ what: `${label} tools: p50`, unit: 'ms', ours: rounds.map((times) => percentile(times, 0.5)) });
      rows.push({
        what: `${label} tools: p95`,
        unit: 'ms',
        ours: rounds.map((times) => percentile(times, 0.95)),
        goal: { of: 'value', atMost: 10 },
      });
      rows.push({
        what: `${label} tools: event loop blocked at most`,
        unit: 'ms',
        ours: [blocked],
        goal: { of: 'value', atMost: 20 },
      });
      rows.push({ what: `${label} tools: first start to first ranked answer`, unit: 'ms', ours: [builtMs] });
    } finally {
      await server.stop();
      await rm(home, { recursive: true, force: true });
    }
  }
  return rows;
}

async function measure(server: TestServer, asked: string[]): Promise<number[][]> {
  const rounds: number[][] = [];
  for (let round = 0; round < 3; round++) {
    const times: number[] = [];
    for (const q of asked) {
      const path = `/tools/tools/search?q=${encodeURIComponent(q)}`;
      const { p50 } = await load({
        url: server.url,
        method: 'GET',
        path,
        headers: { authorization: `Bearer ${server.token}` },
        inFlight: 1,
        requests: 1,
      });
      times.push(p50);
    }
    rounds.push(times);
  }
  return rounds;
}

/** Waits until the server is ready and its index answers. */
async function built(server: TestServer, q: string): Promise<void> {
  while ((await server.fetch('/ready')).status !== 200) await sleep(50);
  await server.fetch(`/tools/tools/search?q=${encodeURIComponent(q)}`);
}

async function loopDelay(server: TestServer): Promise<number> {
  server.process.kill('SIGUSR2');
  for (let i = 0; i < 100; i++) {
    const found = /loop-delay ([\d.]+)/.exec(server.errors());
    if (found) return Number(found[1]);
    await sleep(50);
  }
  throw new Error('the server did not say how long its event loop was blocked');
}

/** Two words of a title, every third time with two letters swapped. */
async function queries(count: number): Promise<string[]> {
  const found: string[] = [];
  let n = 0;
  for await (const { title } of operations()) {
    if (n++ % 400 !== 0) continue;
    const words = title.match(/[A-Za-z]{4,}/g) ?? [];
    if (words.length < 2) continue;
    const [first, second] = words as [string, string];
    const swapped = `${first.slice(0, 1)}${first[2]}${first[1]}${first.slice(3)}`;
    found.push(`${found.length % 3 === 2 ? swapped : first} ${second}`.toLowerCase());
    if (found.length === count) break;
  }
  return found;
}
