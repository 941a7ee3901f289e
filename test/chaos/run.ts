// Kills, cuts and corrupts, and counts what was lost.
//   npm run chaos                all of it, at full length
//   npm run chaos -- NAME ..     some
//
// An item is a file test/chaos/<name>.chaos.ts with three exports:
//   export const about: string
//   export const full: number                                how many rounds `npm run chaos` runs
//   export async function chaos(rounds: number): Promise<Tally>
// Everything counted goes into `counted`; every broken promise is one line in `violations`. A shorter run of the same
// function belongs into a test of its own (<name>.test.ts), so that `npm test` has it too.
import { randomInt } from 'node:crypto';
import { globSync } from 'node:fs';
import { basename, join } from 'node:path';

export interface Tally {
  counted: Record<string, number>;
  violations: string[];
}

interface Item {
  about: string;
  full: number;
  chaos(rounds: number): Promise<Tally>;
}

if (import.meta.main) {
  const known = globSync('*.chaos.ts', { cwd: import.meta.dirname })
    .map((file) => basename(file, '.chaos.ts'))
    .sort();
  const wanted = process.argv.slice(2);
  if (wanted.some((name) => !known.includes(name))) {
    console.log(`npm run chaos [-- NAME ..], where NAME is one of: ${known.join(', ')}`);
    process.exit(2);
  }
  process.env['OUBLIETTE_TEST_SEED'] ??= String(randomInt(2 ** 31));
  console.log(`The same examples again: OUBLIETTE_TEST_SEED=${process.env['OUBLIETTE_TEST_SEED']}`);
  let broken = 0;
  for (const name of wanted.length > 0 ? wanted : known) {
    const { about, full, chaos } = (await import(join(import.meta.dirname, `${name}.chaos.ts`))) as Item;
    console.log(`\n${name}: ${about}`);
    const startedAt = Date.now();
    const { counted, violations } = await chaos(full);
    const numbers = Object.entries(counted).map(([what, count]) => `${what} ${count}`);
    console.log(`  ${full} rounds in ${((Date.now() - startedAt) / 1000).toFixed(0)} s: ${numbers.join(', ')}`);
    for (const violation of violations.slice(0, 20)) console.log(`  BROKEN ${violation}`);
    console.log(violations.length === 0 ? '  nothing was lost' : `  ${violations.length} promises broken`);
    broken += violations.length;
  }
  process.exitCode = broken === 0 ? 0 : 1;
}
