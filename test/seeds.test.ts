import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '..');

/** `path: name; name; path` as pairs of path and name; a path alone stands for the whole file. */
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
  const arrow = /^- (.+) -> (\S+\.ts): (.+)$/.exec(line);
  if (arrow) {
    const [, what, path, name] = arrow as unknown as [string, string, string, string];
    // A name may hold a semicolon itself; only what is no name as a whole is several.
    return { what, tests: textOf(path)?.includes(name) ? [{ path, name }] : references(`${path}: ${name}`) };
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
      if (rule.tests.length === 0) missing.push(`${list}: ${rule.what} names no test`);
      for (const { path, name } of rule.tests) {
        const text = textOf(path);
        if (text === undefined) missing.push(`${list}: there is no ${path}`);
        else if (!text.includes(name)) missing.push(`${list}: ${path} has no test "${name}"`);
      }
    }
  }
  assert.deepEqual(missing, []);
  assert.ok(rules > 50, `looked at ${rules} rules`);
});

const texts = new Map<string, string | undefined>();
function textOf(path: string): string | undefined {
  if (!texts.has(path)) {
    try {
      // Names may be quoted in either way.
      texts.set(path, readFileSync(join(root, path), 'utf8').replaceAll("\\'", "'"));
    } catch {
      texts.set(path, undefined);
    }
  }
  return texts.get(path);
}
