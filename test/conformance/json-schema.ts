// Runs the official JSON Schema test suite through our validator. `json-schema-exceptions.yaml` names what differs, and why.
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parse } from 'yaml';
import { compileSchema } from '../../src/schema/index.ts';

const here = import.meta.dirname;
// A small package of Debian that carries the whole suite; npm has none with the newer drafts.
const carrier = 'libtest-json-schema-acceptance-perl';
const inside = 'usr/share/perl5/auto/share/dist/Test-JSON-Schema-Acceptance/tests';

const drafts = [
  { folder: 'draft7', schema: 'http://json-schema.org/draft-07/schema#', atLeast: 0.99 },
  { folder: 'draft2020-12', schema: 'https://json-schema.org/draft/2020-12/schema', atLeast: 0.95 },
];

interface Case {
  description: string;
  schema: unknown;
  tests: { description: string; data: unknown; valid: boolean }[];
}

/** Prints one line per draft and every surprise; answers how many there were. */
export function conformJsonSchema(): number {
  const tests = suiteFolder();
  if (tests === undefined) {
    console.log(
      `JSON Schema: not run, because ${carrier} can be got neither from this machine nor by apt-get download`,
    );
    return 0;
  }
  const exceptions = parse(readFileSync(join(here, 'json-schema-exceptions.yaml'), 'utf8')) as Record<string, string>;
  let problems = 0;
  const used = new Set<string>();
  for (const { folder, schema, atLeast } of drafts) {
    const failed = new Map<string, string>();
    let total = 0;
    let outside = 0;
    for (const file of globSync('*.json', { cwd: join(tests, folder) }).sort())
      for (const group of JSON.parse(readFileSync(join(tests, folder, file), 'utf8')) as Case[]) {
        const results = runGroup(group, schema);
        if (results === 'needs other documents') {
          outside += group.tests.length;
          continue;
        }
        total += results.length;
        const wrong = results.filter((result) => result !== undefined);
        if (wrong.length > 0)
          failed.set(`${folder}/${basename(file, '.json')}: ${group.description}`, wrong.join('; '));
      }
    const wrong = [...failed].reduce((sum, [, reasons]) => sum + reasons.split('; ').length, 0);
    const share = (total - wrong) / total;
    const isEnough = share >= atLeast;
    console.log(
      `JSON Schema ${folder}: ${total - wrong} of ${total} (${(share * 100).toFixed(2)} %), goal ${atLeast * 100} %: ${isEnough ? 'met' : 'MISSED'}; ${outside} more need other documents, which are never loaded`,
    );
    if (!isEnough) problems++;
    for (const [name, reasons] of failed) {
      if (exceptions[name] !== undefined) used.add(name);
      else problems += Number(console.log(`  unexpected: ${name}: ${reasons}`) === undefined);
    }
  }
  for (const name of Object.keys(exceptions))
    if (!used.has(name)) problems += Number(console.log(`  no longer an exception, remove it: ${name}`) === undefined);
  return problems;
}

/** Undefined for each test that agrees, else what is different. Schemas of other documents are never loaded, on purpose. */
function runGroup(group: Case, schema: string): (string | undefined)[] | 'needs other documents' {
  const dialect = typeof group.schema === 'object' ? { $schema: schema, ...group.schema } : group.schema;
  try {
    // The suite's own tests of `format` ask for it to be a mere annotation.
    const compiled = compileSchema(dialect, { formats: false });
    return group.tests.map((test) =>
      compiled.check(test.data).ok === test.valid
        ? undefined
        : `${test.description} should be ${test.valid ? 'valid' : 'invalid'}`,
    );
  } catch (error) {
    const reason = (error as Error).message;
    if (/Other documents are never loaded|names a dialect that is not supported/.test(reason))
      return 'needs other documents';
    return group.tests.map(() => reason.replaceAll(';', ','));
  }
}

function suiteFolder(): string | undefined {
  const cache = join(here, '..', '..', '.cache', 'json-schema-suite');
  for (const folder of [join('/', inside), join(cache, inside)]) if (existsSync(folder)) return folder;
  mkdirSync(cache, { recursive: true });
  spawnSync('apt-get', ['download', carrier], { cwd: cache, stdio: 'ignore' });
  const [file] = globSync('*.deb', { cwd: cache });
  if (file) spawnSync('dpkg-deb', ['-x', file, '.'], { cwd: cache, stdio: 'ignore' });
  return existsSync(join(cache, inside)) ? join(cache, inside) : undefined;
}

if (process.argv[1] === import.meta.filename) process.exitCode = conformJsonSchema() === 0 ? 0 : 1;
