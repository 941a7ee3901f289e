import { randomInt, randomUUIDv7 } from 'node:crypto';
import { readdir, readFile, rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startTestServer, type TestServer } from '../kit/running-server.ts';
import type { Tally } from './run.ts';
import { ToolLives } from './tool-lives.ts';

export const about =
  'a disk that is full again and again while tools are made, switched and deleted: refused by name, nothing lost or half written';
export const full = 30;

const diskBytes = 64 * 2 ** 20;
const writers = 4;
/** Each round goes on until this many writes were refused. */
const enoughRefusals = 12;

export async function chaos(rounds: number): Promise<Tally> {
  const tally: Tally = { counted: { fills: 0 }, violations: [] };
  const lives = new ToolLives(randomUUIDv7(), tally);
  const server = await startTestServer({ homeBytes: diskBytes });
  try {
    await lives.makeBundle(server);
    for (let round = 0; round < rounds; round++) {
      await writeUntilFull(server, round, lives, tally);
      await lives.live(server, `after${round}`);
    }
    await lives.check(server, lives.slugs);
    await lives.checkList(server);
    await checkFiles(server, tally);
  } finally {
    const code = await server.stop();
    if (code !== 0) tally.violations.push(`the server ended with ${code}`);
  }
  return tally;
}

/** Leaves a little room on the disk, writes until there is none, and makes room again. */
async function writeUntilFull(server: TestServer, round: number, lives: ToolLives, tally: Tally): Promise<void> {
  const ballast = join(server.home, 'ballast');
  const { bavail, bsize } = await statfs(server.home);
  // The server writes at the same time: what does not fit any more fills the disk as well.
  await writeFile(ballast, Buffer.alloc(Math.max(0, bavail * bsize - randomInt(150_000, 500_000)))).catch(() => {});
  const enough = tally.counted['refused']! + enoughRefusals;
  const isRefusal = (status: number, body: string): boolean => status === 429 && body.includes('"limit.storage"');
  await Promise.all(
    Array.from({ length: writers }, async (_, writer) => {
      for (let n = 0; tally.counted['refused']! < enough; n++)
        await lives.live(server, `t${round}-${writer}-${n}`, isRefusal);
    }),
  );
  const called = await server.fetch('/call/demo_foo', { method: 'POST', json: { args: { text: 'hello' } } });
  if (called.status !== 200) tally.violations.push(`a call on a full disk answered ${called.status}`);
  await rm(ballast);
  tally.counted['fills']!++;
}

async function checkFiles(server: TestServer, tally: Tally): Promise<void> {
  const catalog = join(server.home, 'catalog');
  for (const path of await readdir(catalog, { recursive: true })) {
    if (path.endsWith('.tmp')) tally.violations.push(`${path} was left behind`);
    if (path.endsWith('.json'))
      try {
        JSON.parse(await readFile(join(catalog, path), 'utf8'));
      } catch {
        tally.violations.push(`${path} is half written`);
      }
  }
}
