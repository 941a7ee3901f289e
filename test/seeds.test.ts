import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '..');

/** `path: name; name; path: name` as pairs of path and name. */
function references(cell: string): { path: string; name: string }[] {
  const found: { path: string; name: string }[] = [];
  let path = '';
  for (const part of cell.split(/; (?=(?:test|src|ui)\/)|(?<=\.test\.ts): |; /)) {
    const text = part.trim();
    if (/^(test|src|ui)\/\S+\.ts$/.test(text)) found.push({ path: (path = text), name: '' });
    else if (path !== '' && text !== '') found.push({ path, name: text.replace(/ \([^()]*\)$/, '') });
  }
  return found;
}

/** A row of a table, or `- rule -> path: name`. */
function ruleOf(line: string): { what: string; tests: { path: string; name: string }[] } | undefined {
  if (line.startsWith('- ')) {
    const [what, tests = ''] = line.slice(2).split(' -> ');
    return { what: what!, tests: references(tests) };
  }
  const cells = line.startsWith('|') ? line.split('|').slice(1, -1) : [];
  if (cells.length !== 2 || /^[\s-]*$/.test(cells[1]!) || cells[1]!.trim() === 'test') return undefined;
  return { what: cells[0]!.trim(), tests: references(cells[1]!) };
}

test('every rule of the seeds names a test that exists', () => {
  let rules = 0;
  const missing: string[] = [];
  for (const list of globSync('test/seeds/*.md', { cwd: root })) {
    for (const line of readFileSync(join(root, list), 'utf8').split('\n')) {
      const rule = ruleOf(line);
      if (!rule) continue;
      rules++;
      if (rule.tests.every(({ name }) => name === '')) missing.push(`${list}: ${rule.what} names no test`);
      for (const { path, name } of rule.tests) {
        const titles = titlesOf(path);
        if (titles === undefined) missing.push(`${list}: there is no ${path}`);
        else if (name === '' || name === 'all') continue;
        else if (!titles.some((title) => title.startsWith(name)))
          missing.push(`${list}: ${path} has no test "${name}"`);
      }
    }
  }
  assert.deepEqual(missing, []);
  assert.ok(rules > 50, `looked at ${rules} rules`);
});

const known = new Map<string, string[] | undefined>();
/** What the tests of a file are called, cut as the lists are: at semicolons. */
function titlesOf(path: string): string[] | undefined {
  if (!known.has(path)) {
    const text = existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : undefined;
    const titles = text?.matchAll(/\b(?:it|test|describe)\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/g);
    known.set(path, titles && [...titles].flatMap(([, , title]) => title!.replaceAll("\\'", "'").split('; ')));
  }
  return known.get(path);
}
