import { randomInt, randomUUIDv7 } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startTestServer, type TestServer } from '../kit/running-server.ts';
import type { Tally } from './run.ts';
import { ToolLives } from './tool-lives.ts';

export const about =
  'kill -9 at random moments while tools are made, switched and deleted: what was acknowledged stays';
export const full = 100;

const writers = 8;

export async function chaos(rounds: number): Promise<Tally> {
  const home = await mkdtemp(join(tmpdir(), 'oub-chaos-'));
  const tally: Tally = { counted: { kills: 0 }, violations: [] };
  const lives = new ToolLives(randomUUIDv7(), tally);
  let server = await startTestServer({ home });
  try {
    await lives.makeBundle(server);
    for (let round = 0; round < rounds; round++) {
      const touched = await writeUntilKilled(server, round, lives, tally);
      server = await startTestServer({ home });
      await lives.check(server, touched);
    }
    await lives.check(server, lives.slugs);
    await lives.checkList(server);
  } finally {
    await server.stop();
    await rm(home, { recursive: true, force: true });
  }
  return tally;
}

async function writeUntilKilled(
  server: TestServer,
  round: number,
  lives: ToolLives,
  tally: Tally,
): Promise<Set<string>> {
  const touched = new Set<string>();
  let isOver = false;
  const writing = Array.from({ length: writers }, async (_, writer) => {
    for (let n = 0; !isOver; n++) {
      const slug = `t${round}-${writer}-${n}`;
      touched.add(slug);
      await lives.live(server, slug).catch(() => {});
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
