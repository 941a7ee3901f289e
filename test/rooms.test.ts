import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '..');
// The table is a plain script, because lint reads it under an old Node.
const { refusal, rooms, roots } = (await import(join(root, 'scripts', 'rooms.js'))) as {
  refusal(file: string, specifier: string): string | undefined;
  rooms: Record<string, string[]>;
  roots: Record<string, string[]>;
};
const files = globSync('**/*.ts', { cwd: join(root, 'src') }).map((file) => file.replaceAll('\\', '/'));
const importsOf = (source: string) =>
  [
    ...source.matchAll(
      /^\s*(?:import|export)\b[^'";]*?\bfrom\s+'([^']+)'|^\s*import\s+'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/gm,
    ),
  ].map((match) => match[1] ?? match[2] ?? match[3] ?? '');

test('every import in src/ follows the table', () => {
  let scanned = 0;
  let found = 0;
  const refused: string[] = [];
  for (const file of files) {
    scanned++;
    for (const specifier of importsOf(readFileSync(join(root, 'src', file), 'utf8'))) {
      found++;
      const reason = refusal(file, specifier);
      if (reason) refused.push(`${file}: ${reason}`);
    }
  }
  assert.deepEqual(refused, []);
  assert.equal(scanned, files.length);
  assert.ok(scanned > 40 && found > 2 * scanned, `looked at ${scanned} files with ${found} imports`);
});

test('every folder of src/ is a room of the table with a front door that says its purpose', () => {
  const folders = new Set(files.filter((file) => file.includes('/')).map((file) => file.split('/')[0]!));
  for (const folder of folders) {
    assert.ok(rooms[folder] ?? roots[folder], `src/${folder} is not in the table`);
    // A program with a folder of its own is entered by its file; doors and sources have one room per kind.
    const kinds = ['doors', 'sources'].includes(folder)
      ? new Set(
          files
            .filter((file) => file.startsWith(`${folder}/`) && file.split('/').length > 2)
            .map((file) => file.split('/')[1]!),
        )
      : new Set(roots[folder] ? [] : ['.']);
    for (const kind of kinds) {
      const first = readFileSync(join(root, 'src', folder, kind, 'index.ts'), 'utf8').split('\n')[0]!;
      assert.match(first, /^\/\/ .+ May import: .+\.$/, `src/${folder}/${kind}/index.ts`);
    }
  }
});

test('ARCHITECTURE.md shows the same table', () => {
  const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
  const rows = [...text.matchAll(/^\| `(\w+)\/` \| .+ \| ([^|]+) \|$/gm)].map(([, room, allowed]) => [
    room,
    allowed!.trim() === 'nothing of ours' ? [] : allowed!.trim().split(', '),
  ]);
  assert.equal(rows.length, Object.keys(rooms).length);
  assert.deepEqual(Object.fromEntries(rows), rooms);
  const programs = [...text.matchAll(/^\| `([\w-]+)\.ts` \| .+ \| ([^|]+) \|$/gm)].map(([, program, allowed]) => [
    program,
    allowed!
      .trim()
      .split(', ')
      .flatMap((each) => (each === 'all rooms' ? Object.keys(rooms) : each.replace('nothing of ours', '') || [])),
  ]);
  assert.deepEqual(Object.fromEntries(programs), roots);
});

test('the scan sees every way to import', () => {
  const source = [
    "import { a } from './a.ts';",
    "import type { B } from '../b/index.ts';",
    "export * from './c.ts';",
    "import './d.ts';",
  ];
  assert.deepEqual(importsOf(source.join('\n')), ['./a.ts', '../b/index.ts', './c.ts', './d.ts']);
  assert.deepEqual(importsOf("import {\n  a,\n  b,\n} from './many.ts';"), ['./many.ts']);
  assert.deepEqual(importsOf("const x = await import('./late.ts');"), ['./late.ts']);
});
