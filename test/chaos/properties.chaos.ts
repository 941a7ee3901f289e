import { randomInt } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from 'node:test';
import { root } from '../kit/running-server.ts';
import type { Tally } from './run.ts';

export const about = 'every test that draws examples, in each round with others than before';
export const full = 5;

export async function chaos(rounds: number): Promise<Tally> {
  const tally: Tally = { counted: { passed: 0 }, violations: [] };
  const files = globSync('{src,ui/src,test}/**/*.test.ts', { cwd: root })
    .map((file) => join(root, file))
    .filter((file) => readFileSync(file, 'utf8').includes('kit/fast-check.ts'));
  const first = Number(process.env['OUBLIETTE_TEST_SEED'] ?? randomInt(2 ** 31));
  for (let round = 0; round < rounds; round++) {
    const seed = String(first + round);
    const env = { ...process.env, OUBLIETTE_TEST_SEED: seed };
    for await (const { type, data } of run({ files, concurrency: 2, cwd: root, env })) {
      if (type === 'test:pass') tally.counted['passed']!++;
      else if (type === 'test:fail') tally.violations.push(`OUBLIETTE_TEST_SEED=${seed}: ${data.file}: ${data.name}`);
    }
  }
  return tally;
}
