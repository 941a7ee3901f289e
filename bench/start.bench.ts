import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root, startTestServer } from '../test/kit/running-server.ts';
import { indexedHome } from './large-home.ts';
import { interleave, type Row } from './measure.ts';

export const about = 'to ready, the second time, with 0, 1,000 and 125,000 tools, and with upstream servers that hang';

export async function bench(): Promise<Row[]> {
  const empty = await mkdtemp(join(tmpdir(), 'oub-start-'));
  const hanging = await mkdtemp(join(tmpdir(), 'oub-start-'));
  const hang = '{ command: sleep, args: ["3600"] }';
  await writeFile(
    join(hanging, 'config.yaml'),
    `version: 1\nservers: { one: ${hang}, two: ${hang}, three: ${hang} }\n`,
  );
  const thousand = await indexedHome(1000);
  const many = await indexedHome(125_000);
  try {
    for (const home of [empty, hanging, thousand, many]) await toReady(home);
    const taken = await interleave(5, {
      empty: () => toReady(empty),
      hanging: () => toReady(hanging),
      thousand: () => toReady(thousand),
      many: () => toReady(many),
      node: bareNode,
    });
    const beside = { unit: 'ms', other: taken.node, otherName: 'node -e 0' };
    return [
      { what: 'no tools', ...beside, ours: taken.empty, goal: { of: 'value', atMost: 1000 } },
      { what: '1,000 tools', ...beside, ours: taken.thousand, goal: { of: 'value', atMost: 1000 } },
      { what: '125,000 tools', ...beside, ours: taken.many, goal: { of: 'value', atMost: 2000 } },
      {
        what: 'three upstream servers that hang',
        unit: 'ms',
        ours: taken.hanging,
        other: taken.empty,
        otherName: 'without them',
        goal: { of: 'ratio', atMost: 1.2 },
      },
    ];
  } finally {
    for (const home of [empty, hanging]) await rm(home, { recursive: true, force: true });
  }
}

/** Through the launcher, as a person starts it. */
async function toReady(home: string): Promise<number> {
  const startedAt = performance.now();
  const server = await startTestServer({ home, args: ['--log', 'warn'], program: join(root, 'bin', 'oubliette.js') });
  while ((await fetch(`${server.url}/ready`)).status !== 200);
  const taken = performance.now() - startedAt;
  await server.stop();
  return taken;
}

async function bareNode(): Promise<number> {
  const startedAt = performance.now();
  spawnSync(process.execPath, ['-e', '0']);
  return performance.now() - startedAt;
}
