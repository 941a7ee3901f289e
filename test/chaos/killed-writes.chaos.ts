import { randomInt, randomUUIDv7 } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startTestServer, type TestServer } from '../support/running-server.ts';
import type { Tally } from './run.ts';

export const about =
  'kill -9 at random moments while tools are made, switched and deleted: what was acknowledged stays';
export const full = 100;

const writers = 8;
/** What a tool must be after a crash: undefined when either of two states is right, because no answer came. */
type Known = { text: string; isEnabled: boolean } | 'deleted' | undefined;

export async function chaos(rounds: number): Promise<Tally> {
  const home = await mkdtemp(join(tmpdir(), 'oub-chaos-'));
  const tally: Tally = { counted: { acknowledged: 0, kills: 0, checked: 0 }, violations: [] };
  const bundleID = randomUUIDv7();
  const known = new Map<string, Known>();
  let server = await startTestServer({ home });
  try {
    const made = await server.fetch(`/tools/bundles/${bundleID}`, {
      method: 'PUT',
      json: { slug: 'crash', displayName: 'Crash', isEnabled: true },
    });
    if (made.status !== 201) throw new Error(`the bundle could not be made: ${await made.text()}`);
    for (let round = 0; round < rounds; round++) {
      const touched = await writeUntilKilled(server, bundleID, round, known, tally);
      server = await startTestServer({ home });
      await check(server, bundleID, touched, known, tally);
    }
    await check(server, bundleID, new Set(known.keys()), known, tally);
    await checkFiles(server, bundleID, known, tally);
  } finally {
    await server.stop();
    await rm(home, { recursive: true, force: true });
  }
  return tally;
}

async function writeUntilKilled(
  server: TestServer,
  bundleID: string,
  round: number,
  known: Map<string, Known>,
  tally: Tally,
): Promise<Set<string>> {
  const touched = new Set<string>();
  let isOver = false;
  const writing = Array.from({ length: writers }, async (_, writer) => {
    for (let n = 0; !isOver; n++) {
      const slug = `t${round}-${writer}-${n}`;
      touched.add(slug);
      await live(server, bundleID, slug, known, tally).catch(() => {});
    }
  });
  // Counted in writes, not in time: a slow machine must be in the middle of them too.
  const enough = tally.counted['acknowledged']! + randomInt(1, 60);
  while (tally.counted['acknowledged']! < enough) await sleep(1);
  await sleep(randomInt(0, 15));
  await server.kill();
  tally.counted['kills']!++;
  isOver = true;
  await Promise.all(writing);
  return touched;
}

/** One tool's life: made, perhaps switched off, perhaps deleted. A step without an answer leaves its state open. */
async function live(
  server: TestServer,
  bundleID: string,
  slug: string,
  known: Map<string, Known>,
  tally: Tally,
): Promise<void> {
  const path = `/tools/bundles/${bundleID}/tools/${slug}/version/v1`;
  const text = `made for ${slug} `.repeat(randomInt(1, 200));
  const body = {
    displayName: slug,
    description: text,
    isEnabled: true,
    type: 'function',
    functionImpl: { func: 'demo.foo' },
    argSchema: { type: 'object' },
  };
  const step = async (method: string, json: object | undefined, state: Known, status: number) => {
    known.set(slug, undefined);
    const answer = await server.fetch(path, { method, json });
    if (answer.status !== status)
      tally.violations.push(`${method} ${slug} answered ${answer.status}: ${await answer.text()}`);
    else await answer.arrayBuffer();
    known.set(slug, state);
    tally.counted['acknowledged']!++;
  };
  await step('PUT', body, { text, isEnabled: true }, 201);
  if (randomInt(4) === 0) await step('PATCH', { isEnabled: false }, { text, isEnabled: false }, 200);
  if (randomInt(4) === 0) await step('DELETE', undefined, 'deleted', 204);
}

async function check(
  server: TestServer,
  bundleID: string,
  slugs: Set<string>,
  known: Map<string, Known>,
  tally: Tally,
): Promise<void> {
  for (const slug of slugs) {
    const expected = known.get(slug);
    const answer = await server.fetch(`/tools/bundles/${bundleID}/tools/${slug}/version/v1`);
    const found = (await answer.json()) as { description?: string; isEnabled?: boolean };
    tally.counted['checked']!++;
    if (answer.status !== 200 && answer.status !== 404)
      tally.violations.push(`${slug} answers ${answer.status} after a crash`);
    else if (expected === 'deleted') {
      if (answer.status !== 404) tally.violations.push(`${slug} was deleted and is back`);
    } else if (expected) {
      if (answer.status !== 200) tally.violations.push(`${slug} was acknowledged and is gone`);
      else if (found.description !== expected.text)
        tally.violations.push(`${slug} has other bytes than were acknowledged`);
      else if (found.isEnabled !== expected.isEnabled) tally.violations.push(`${slug} forgot its switch`);
    }
  }
}

/** The list shows exactly what single reads show, and the log names no damaged file. */
async function checkFiles(
  server: TestServer,
  bundleID: string,
  known: Map<string, Known>,
  tally: Tally,
): Promise<void> {
  const listed = new Set<string>();
  let query = `bundleIDs=${bundleID}&includeDisabled=true&recommendedPageSize=256`;
  for (;;) {
    const page = (await (await server.fetch(`/tools/tools?${query}`)).json()) as {
      tools: { slug: string }[];
      nextPageToken?: string;
    };
    for (const tool of page.tools) listed.add(tool.slug);
    if (!page.nextPageToken) break;
    query = `pageToken=${encodeURIComponent(page.nextPageToken)}`;
  }
  for (const [slug, state] of known) {
    if (state === 'deleted' && listed.has(slug)) tally.violations.push(`${slug} was deleted and is listed`);
    if (state && state !== 'deleted' && !listed.has(slug))
      tally.violations.push(`${slug} was acknowledged and is not listed`);
  }
  tally.counted['listed'] = listed.size;
}
