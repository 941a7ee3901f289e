import { randomUUIDv7 } from 'node:crypto';
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { startTestServer, type TestServer } from '../test/support/running-server.ts';
import { interleave, type Row } from './measure.ts';

export const about =
  'PUT of tools by 1, 4 and 16 writers through two server processes on one home, against plain write + fsync + rename';

const processes = 2;
const total = 320;

export async function bench(): Promise<Row[]> {
  const scratch = await mkdtemp(join(tmpdir(), 'oub-writes-'));
  const servers = await Promise.all(
    Array.from({ length: processes }, () => startTestServer({ home: join(scratch, 'home'), args: ['--log', 'warn'] })),
  );
  const rows: Row[] = [];
  try {
    const bundleID = randomUUIDv7();
    const bundle = { slug: 'writes', displayName: 'Writes', isEnabled: true };
    const made = await servers[0]!.fetch(`/tools/bundles/${bundleID}`, { method: 'PUT', json: bundle });
    if (made.status !== 201) throw new Error(await made.text());
    await ready(servers[1]!, bundleID);
    for (const writers of [1, 4, 16]) {
      const taken = await interleave(5, {
        ours: () => ourWrites(servers, bundleID, writers),
        other: () => plainWrites(scratch, writers),
      });
      rows.push({
        what: `${writers} writers`,
        unit: 'writes/s',
        ...taken,
        otherName: 'write+fsync+rename',
        goal: { of: 'ratio', atLeast: 0.5 },
      });
    }
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

async function ourWrites(servers: TestServer[], bundleID: string, writers: number): Promise<number> {
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: writers }, async (_, writer) => {
      const server = servers[writer % servers.length]!;
      for (let n = 0; n < total / writers; n++) {
        const answer = await server.fetch(`/tools/bundles/${bundleID}/tools/${randomUUIDv7()}/version/v1`, {
          method: 'PUT',
          json: tool,
        });
        if (answer.status !== 201) throw new Error(await answer.text());
        await answer.arrayBuffer();
      }
    }),
  );
  return total / ((performance.now() - startedAt) / 1000);
}

/** As many bytes and writers, spread over as many processes. */
async function plainWrites(scratch: string, writers: number): Promise<number> {
  const folder = await mkdtemp(join(scratch, 'plain-'));
  const bytes = JSON.stringify(tool, null, 2).length + 400;
  const used = Math.min(processes, writers);
  const seconds = await Promise.all(
    Array.from({ length: used }, async () => {
      const args = [
        join(import.meta.dirname, 'plain-writer.ts'),
        folder,
        String(writers / used),
        String(total / writers),
        String(bytes),
      ];
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
      const lines = (await text(child.stdout)).trim().split('\n');
      return (JSON.parse(lines.at(-1)!) as { seconds: number }).seconds;
    }),
  );
  await rm(folder, { recursive: true });
  return total / Math.max(...seconds);
}
