import { randomUUIDv7 } from 'node:crypto';
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { startTestServer, type TestServer } from '../test/kit/running-server.ts';
import { Line, requestBytes } from './load.ts';
import { interleave, type Row } from './measure.ts';

export const about =
  'PUT of tools by 1, 4 and 16 writers through two server processes on one home, against plain write + fsync + rename ' +
  'of as many bytes by as many writers in as many processes, into one folder of the same home, which grows as ours does; ' +
  'the names of the plain side may be gone after a power cut, ours are not';

const processes = 2;
const total = 320;
/** So many times as many until hardly anything is left to compile: a server is not new at every write. */
const warmRounds = 16;

export async function bench(): Promise<Row[]> {
  const scratch = await mkdtemp(join(tmpdir(), 'oub-writes-'));
  const options = { home: join(scratch, 'home'), args: ['--log', 'warn'] };
  const servers = await Promise.all(Array.from({ length: processes }, () => startTestServer(options)));
  const rows: Row[] = [];
  try {
    const bundleID = randomUUIDv7();
    const bundle = { slug: 'writes', displayName: 'Writes', isEnabled: true };
    const made = await servers[0]!.fetch(`/tools/bundles/${bundleID}`, { method: 'PUT', json: bundle });
    if (made.status !== 201) throw new Error(await made.text());
    await ready(servers[1]!, bundleID);
    const acknowledged = new Set<string>();
    const plain = join(options.home, 'plain');
    await mkdir(plain);
    const drafts = join(options.home, 'catalog', '.drafts');
    for (let round = 0; round < warmRounds; round++) await ourWrites(servers, bundleID, 16, acknowledged);
    for (const writers of [1, 4, 16]) {
      await ourWrites(servers, bundleID, writers, acknowledged);
      const taken = await interleave(5, {
        ours: () => ourWrites(servers, bundleID, writers, acknowledged),
        other: () => plainWrites(plain, drafts, writers),
      });
      rows.push({
        what: `${writers} writers`,
        unit: 'writes/s',
        ...taken,
        otherName: 'write+fsync+rename',
        goal: { of: 'ratio', atLeast: 0.5 },
      });
    }
    await kill(servers, bundleID, acknowledged);
    // The one that is left sees what the other wrote a moment later.
    await sleep(2000);
    const { lost, doubled } = await missing(servers[0]!, bundleID, acknowledged);
    const none = { of: 'value', atMost: 0 } as const;
    const what = `of ${acknowledged.size} acknowledged, a server killed in the middle`;
    rows.push({ what: `lost ${what}`, unit: 'tools', ours: [lost], goal: none });
    rows.push({ what: `there twice ${what}`, unit: 'tools', ours: [doubled], goal: none });
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    await rm(scratch, { recursive: true, force: true });
  }
  return rows;
}

/** Waits until the other process has seen the bundle. */
async function ready(server: TestServer, bundleID: string): Promise<void> {
  for (;;) {
    const page = (await (await server.fetch(`/tools/bundles?bundleIDs=${bundleID}`)).json()) as { bundles: unknown[] };
    if (page.bundles.length === 1) return;
  }
}

const tool = {
  displayName: 'Write',
  description: 'x'.repeat(400),
  isEnabled: true,
  type: 'function',
  functionImpl: { func: 'demo.foo' },
  argSchema: { type: 'object', properties: { text: { type: 'string' } } },
};

async function ourWrites(
  servers: TestServer[],
  bundleID: string,
  writers: number,
  acknowledged: Set<string>,
): Promise<number> {
  const lines = await Promise.all(
    Array.from({ length: writers }, (_, writer) => {
      const { hostname, port } = new URL(servers[writer % servers.length]!.url);
      return Line.open(hostname, Number(port));
    }),
  );
  const startedAt = performance.now();
  await Promise.all(
    lines.map(async (line, writer) => {
      const request = requestTo(servers[writer % servers.length]!, bundleID);
      for (let n = 0; n < total / writers; n++) await put(line, request, acknowledged);
    }),
  );
  const seconds = (performance.now() - startedAt) / 1000;
  for (const line of lines) line.close();
  // What the servers still do behind their answers must not be paid for by the other side.
  await sleep(300);
  return total / seconds;
}

const slugPlace = randomUUIDv7();

/** The bytes of a request but for its slug: the client shall cost as little as possible beside what it measures. */
function requestTo(server: TestServer, bundleID: string): string {
  const path = `/tools/bundles/${bundleID}/tools/${slugPlace}/version/v1`;
  const headers = { authorization: `Bearer ${server.token}` };
  return requestBytes({ url: server.url, method: 'PUT', path, headers, body: tool }).toString('latin1');
}

async function put(line: Line, request: string, acknowledged: Set<string>): Promise<void> {
  const slug = randomUUIDv7();
  const { status, body } = await line.ask(Buffer.from(request.replace(slugPlace, slug), 'latin1'));
  if (status !== 201) throw new Error(body);
  acknowledged.add(slug);
}

/** Ends the first server by force while four writers write through each; whoever wrote through it stops. */
async function kill(servers: TestServer[], bundleID: string, acknowledged: Set<string>): Promise<void> {
  const killed = servers[0]!;
  let isOver = false;
  const enough = acknowledged.size + total / 2;
  const writing = Array.from({ length: 8 }, async (_, writer) => {
    const server = servers[writer % servers.length]!;
    const { hostname, port } = new URL(server.url);
    const line = await Line.open(hostname, Number(port));
    const request = requestTo(server, bundleID);
    try {
      while (!isOver) await put(line, request, acknowledged);
    } catch (error) {
      if (server !== killed) throw error;
    } finally {
      line.close();
    }
  });
  while (acknowledged.size < enough) await sleep(1);
  await killed.kill();
  servers.shift();
  isOver = true;
  await Promise.all(writing);
}

async function missing(
  server: TestServer,
  bundleID: string,
  acknowledged: Set<string>,
): Promise<{ lost: number; doubled: number }> {
  const found: string[] = [];
  let pageToken: string | undefined;
  do {
    const next = pageToken === undefined ? '' : `&pageToken=${encodeURIComponent(pageToken)}`;
    const answer = await server.fetch(`/tools/tools?recommendedPageSize=256&bundleIDs=${bundleID}${next}`);
    const page = (await answer.json()) as { tools: { slug: string }[]; nextPageToken?: string };
    found.push(...page.tools.map(({ slug }) => slug));
    pageToken = page.nextPageToken;
  } while (pageToken !== undefined);
  const there = new Set(found);
  return { lost: [...acknowledged].filter((slug) => !there.has(slug)).length, doubled: found.length - there.size };
}

/**
 * As many bytes and writers, spread over as many processes. What they wrote stays until the end, as ours does: some file
 * systems are slow to make files where many were deleted a moment ago. For the same reason both sides make them in the
 * same folder and move them from there: where a new file lies on the disk depends on it.
 */
async function plainWrites(folder: string, drafts: string, writers: number): Promise<number> {
  const bytes = JSON.stringify(tool, null, 2).length + 400;
  const used = Math.min(processes, writers);
  const seconds = await Promise.all(
    Array.from({ length: used }, async () => {
      const args = [
        join(import.meta.dirname, 'plain-writer.ts'),
        folder,
        drafts,
        String(writers / used),
        String(total / writers),
        String(bytes),
      ];
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
      const lines = (await text(child.stdout)).trim().split('\n');
      return (JSON.parse(lines.at(-1)!) as { seconds: number }).seconds;
    }),
  );
  return total / Math.max(...seconds);
}
