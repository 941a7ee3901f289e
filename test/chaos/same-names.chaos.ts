import { spawn, type ChildProcess } from 'node:child_process';
import { randomInt, randomUUIDv7 } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Catalog } from '../../src/catalog/index.ts';
import { Database, openHome } from '../../src/store/index.ts';
import type { Tally } from './run.ts';

export const about =
  '16 processes take the same names at once, a quarter of them is killed: every name has exactly one winner';
export const full = 10;

const processes = 16;
const names = 60;

export async function chaos(rounds: number): Promise<Tally> {
  const tally: Tally = { counted: { names: 0, won: 0, lost: 0, kills: 0 }, violations: [] };
  for (let round = 0; round < rounds; round++) {
    const root = await mkdtemp(join(tmpdir(), 'oub-names-'));
    try {
      await oneRace(root, tally);
    } finally {
      await rm(root, { recursive: true, force: true });
    }
  }
  return tally;
}

async function oneRace(root: string, tally: Tally): Promise<void> {
  const bundleID = await makeBundle(root);
  const racers = await Promise.all(Array.from({ length: processes }, (_, n) => Racer.start(root, bundleID, `p${n}`)));
  for (const racer of racers) racer.go();
  const doomed = racers.filter((_, n) => n % 4 === 3);
  await sleep(randomInt(1, 60));
  for (const racer of doomed) racer.kill();
  tally.counted['kills']! += doomed.length;
  await Promise.all(racers.map((racer) => racer.over));

  const winners = new Map<string, string>();
  for (const racer of racers) {
    tally.violations.push(...racer.broke);
    tally.counted['lost']! += racer.lost;
    for (const name of racer.won) {
      tally.counted['won']!++;
      const other = winners.get(name);
      if (other) tally.violations.push(`${name} was won by ${other} and by ${racer.mark}`);
      winners.set(name, racer.mark);
    }
  }
  await compareWithDisk(root, bundleID, winners, new Set(doomed.map((racer) => racer.mark)), tally);
}

async function makeBundle(root: string): Promise<string> {
  const home = await openHome(root);
  const db = new Database(home.stateDb);
  const catalog = await Catalog.open({ home, db, providers: [], onCorrupt: () => {}, onTrouble: () => {} });
  const { bundle } = await catalog.writer.putBundle(randomUUIDv7(), {
    slug: 'race',
    displayName: 'Race',
    isEnabled: true,
  });
  await catalog.close();
  await db.close();
  return bundle.id;
}

async function compareWithDisk(
  root: string,
  bundleID: string,
  winners: Map<string, string>,
  killed: Set<string>,
  tally: Tally,
): Promise<void> {
  const folder = join(root, 'catalog', bundleID);
  const owners = new Map<string, string>();
  for (const file of await readdir(folder)) {
    if (!file.endsWith('.json') || file === 'bundle.json') continue;
    const tool = JSON.parse(await readFile(join(folder, file), 'utf8')) as {
      slug?: string;
      displayName: string;
      description: string;
    };
    if (!tool.slug) continue;
    if (owners.has(tool.slug)) tally.violations.push(`${tool.slug} is there twice`);
    if (tool.description !== tool.displayName.repeat(50)) tally.violations.push(`${tool.slug} is a mixture`);
    owners.set(tool.slug, tool.displayName);
  }
  tally.counted['names']! += owners.size;
  if (owners.size !== names) tally.violations.push(`${owners.size} of ${names} names are on disk`);
  for (const [name, mark] of winners)
    if (owners.get(name) !== mark)
      tally.violations.push(`${name}: ${mark} was told it won, ${owners.get(name)} is on disk`);
  for (const [name, mark] of owners)
    if (!winners.has(name) && !killed.has(mark))
      tally.violations.push(`${name}: ${mark} is on disk and was not told that it won`);
}

/** One writing process and what it said. */
class Racer {
  readonly mark: string;
  readonly won: string[] = [];
  readonly broke: string[] = [];
  readonly over: Promise<unknown>;
  lost = 0;
  readonly #child: ChildProcess;

  static async start(root: string, bundleID: string, mark: string): Promise<Racer> {
    const program = join(import.meta.dirname, 'catalog-writer.ts');
    const child = spawn(process.execPath, [program, root, bundleID, String(names), mark], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const racer = new Racer(child, mark);
    await racer.#ready;
    return racer;
  }

  readonly #ready: Promise<void>;

  constructor(child: ChildProcess, mark: string) {
    this.mark = mark;
    this.#child = child;
    this.over = once(child, 'close');
    child.stdin!.on('error', () => {});
    const lines = createInterface({ input: child.stdout! });
    this.#ready = new Promise((resolve, reject) => {
      child.once('exit', () => reject(new Error('a writer ended before it was ready')));
      lines.on('line', (line) => {
        const [verb, name] = line.split(' ');
        if (verb === 'ready') resolve();
        else if (verb === 'won') this.won.push(name!);
        else if (verb === 'lost') this.lost++;
        else this.broke.push(`${mark} said: ${line}`);
      });
    });
  }

  go(): void {
    this.#child.stdin!.write('go\n');
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }
}
