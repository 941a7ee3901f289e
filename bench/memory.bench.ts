import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { startTestServer, type TestServer } from '../test/kit/running-server.ts';
import { indexedHome } from './large-home.ts';
import { load } from './load.ts';
import type { Row } from './measure.ts';

export const about =
  'memory of the main process: idle, with 125,000 tools, with 1,000 open streams, after 10,000 calls';

export async function bench(): Promise<Row[]> {
  const idle = await startTestServer({ args: ['--log', 'warn'] });
  const rows: Row[] = [];
  try {
    await sleep(3000);
    rows.push({ what: 'idle', unit: 'MB', ours: [megabytes(idle)], goal: { of: 'value', atMost: 120 } });
    await calls(idle, 2000);
    const early = await settled(idle);
    await calls(idle, 10_000);
    rows.push({
      what: 'after 10,000 calls',
      unit: 'MB',
      ours: [await settled(idle)],
      other: [early],
      otherName: 'after 2,000',
      goal: { of: 'ratio', atMost: 1.2 },
    });
    const before = await settled(idle);
    const close = await openStreams(idle, 1000);
    rows.push({
      what: '1,000 open streams',
      unit: 'MB',
      ours: [await settled(idle)],
      other: [before],
      otherName: 'without',
    });
    close();
  } finally {
    await idle.stop();
  }
  const many = await startTestServer({ home: await indexedHome(125_000), args: ['--log', 'warn'] });
  try {
    while ((await many.fetch('/ready')).status !== 200) await sleep(200);
    await many.fetch('/tools/tools/search?q=list+users');
    // Long enough for all files to have been looked at.
    await sleep(10_000);
    rows.push({ what: '125,000 tools', unit: 'MB', ours: [await settled(many)], goal: { of: 'value', atMost: 250 } });
  } finally {
    await many.stop();
  }
  return rows;
}

function megabytes({ pid }: TestServer): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;
}

/** The lowest of some seconds: what is only waiting for the collector does not count. */
async function settled(server: TestServer): Promise<number> {
  let lowest = Infinity;
  for (let i = 0; i < 8; i++) {
    await sleep(500);
    lowest = Math.min(lowest, megabytes(server));
  }
  return lowest;
}

const calls = (server: TestServer, requests: number) =>
  load({
    url: server.url,
    path: '/call/demo_foo',
    headers: { authorization: `Bearer ${server.token}` },
    body: { args: { text: 'x' } },
    inFlight: 16,
    requests,
  });

async function openStreams(server: TestServer, count: number): Promise<() => void> {
  const open = await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise<{ destroy(): void }>((resolve, reject) => {
          const headers = { authorization: `Bearer ${server.token}`, accept: 'text/event-stream' };
          const sent = request(`${server.url}/events?topics=catalog`, { headers }, (response) => {
            if (response.statusCode !== 200) reject(new Error(`/events answered ${response.statusCode}`));
            response.resume();
            resolve(sent);
          });
          sent.on('error', () => {});
          sent.end();
        }),
    ),
  );
  return () => open.forEach((each) => each.destroy());
}
