import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { parse } from 'yaml';
import { configJsonSchema } from '../src/config/index.ts';
import { compileSchema, newUuid } from '../src/schema/index.ts';
import { commandsIn, helpOf, papers, root } from './kit/papers.ts';
import { testServer, type TestServer } from './kit/server.ts';

const settings = configJsonSchema() as { properties: Record<string, { properties?: object }> };

let server: TestServer;
before(async () => {
  server = await testServer();
});
after(() => server.remove());

test('every link leads to a file that is there, and to a heading in it', () => {
  let seen = 0;
  for (const { name, text } of papers)
    for (const [, target = '', anchor] of text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)]+))?\)/g)) {
      seen++;
      const file = target === '' ? name : join(dirname(name), target);
      assert.ok(existsSync(join(root, file)), `${name} links to ${target}`);
      if (anchor) assert.ok(anchorsOf(file).includes(anchor), `${name} links to #${anchor} of ${file}`);
    }
  assert.ok(seen > 15, `${seen} links`);
});

const anchorsOf = (file: string): string[] =>
  [...readFileSync(join(root, file), 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} -]/gu, '')
      .replaceAll(' ', '-'),
  );

test('every file that ARCHITECTURE.md and CONTRIBUTING.md name is there', () => {
  let seen = 0;
  for (const { name, text } of papers.filter((each) => /^(ARCH|CONTRIB)/.test(each.name)))
    for (const [, path] of text.matchAll(/`([\w./-]+\/[\w.-]*\.(?:ts|js|md|json))`/g)) {
      seen++;
      assert.ok(existsSync(join(root, path!)) || existsSync(join(root, 'src', path!)), `${name} names ${path}`);
    }
  assert.ok(seen >= 8, `${seen} files`);
});

test('every command in the papers exists, with the options that are written there', async () => {
  let seen = 0;
  for (const { name, text } of papers)
    for (const [, line] of text.matchAll(/(?:^ *|`|\| )oubliette ((?:[a-z][a-z-]*|--)[^`\n|#]*)/gm)) {
      seen++;
      const words = line!
        .split(' -- ')[0]!
        .replaceAll(/'[^']*'?|"[^"]*"?/g, 'x')
        .trim()
        .split(/\s+/);
      const path: string[] = [];
      let help = await helpOf([]);
      for (const word of words) {
        if (!/^[a-z][a-z-]*$/.test(word) || !new RegExp(`^ {2}${word}\\b`, 'm').test(commandsIn(help))) break;
        path.push(word);
        help = await helpOf(path);
      }
      assert.ok(path.length > 0, `${name}: oubliette ${line}`);
      const isGroup = / \[command\]/.test(help) && !/<file>/.test(help);
      assert.ok(!isGroup || words.length === path.length, `${name}: oubliette ${line}`);
      for (const flag of line!.split(' -- ')[0]!.match(/(?<![\w-])--[a-z][a-z-]*/g) ?? [])
        assert.match(help, new RegExp(`^ {2}.*${flag}\\b`, 'm'), `${name}: oubliette ${line}`);
    }
  assert.ok(seen > 30, `${seen} commands`);
});

test('every YAML example is a configuration that is taken', () => {
  const schema = compileSchema(settings);
  let seen = 0;
  for (const { name, text } of papers)
    for (const [, yaml] of text.matchAll(/^```yaml\n([^]*?)^```$/gm)) {
      seen++;
      const checked = schema.check(parse(yaml!));
      assert.deepEqual(checked.ok ? [] : checked.errors, [], `${name}:\n${yaml}`);
    }
  assert.ok(seen >= 2, `${seen} examples`);
});

test('every tool that is written out in the papers can be stored', async () => {
  await server.call('settings_set', { path: ['allowedHosts'], value: ['api.github.com'] });
  const bundle = `/tools/bundles/${newUuid()}`;
  await server.ask('PUT', bundle, { slug: 'papers', displayName: 'Papers', isEnabled: true });
  let seen = 0;
  for (const { name, text } of papers)
    for (const [, json] of text.matchAll(/^```json\n([^]*?)^```$/gm)) {
      const body = JSON.parse(json!) as object;
      if (!('argSchema' in body)) continue;
      seen++;
      const stored = await server.ask('PUT', `${bundle}/tools/t${seen}/version/v1`, body);
      assert.equal(stored.status, 201, `${name}: ${JSON.stringify(stored.body)}`);
    }
  assert.ok(seen >= 1, `${seen} tools`);
});

test('every key that the papers name is one of config.yaml, and every section is described', () => {
  const known = (path: string): boolean => {
    let at: unknown = settings;
    for (const step of path.split('.')) at = (at as { properties?: Record<string, unknown> }).properties?.[step];
    return at !== undefined;
  };
  let seen = 0;
  for (const { name, text } of papers)
    for (const [whole, section, key] of text.matchAll(
      /`([a-z]+)\.([a-z]+[A-Z]\w*|enabled|depth|level|driver|pids|cpus)\b/g,
    )) {
      // A tool has limits of its own.
      const isOfTool = section === 'limits' && key!.startsWith('max');
      if (isOfTool || !(section! in settings.properties)) continue;
      seen++;
      assert.ok(known(`${section}.${key}`), `${name}: ${whole}`);
    }
  assert.ok(seen > 12, `${seen} keys`);
  const table = papers.find(({ name }) => name.endsWith('configuration.md'))!.text;
  const rows = [...table.matchAll(/^\| `([\w.]+)` \|/gm)].map(([, key]) => key!);
  for (const key of rows) assert.ok(known(key), key);
  const sections = new Set(rows.map((key) => key.split('.')[0]));
  assert.deepEqual(
    Object.keys(settings.properties).filter((key) => key !== 'version' && !sections.has(key)),
    [],
  );
});

test('every address that the papers show is in /openapi.json, and every tool that they call is there', async () => {
  const { paths } = (await server.ask('GET', '/openapi.json')).body as {
    paths: Record<string, Record<string, unknown>>;
  };
  const plain = (path: string): string => path.replaceAll(/\{[^}]*\}/g, '{}');
  const offered = new Map(Object.entries(paths).map(([path, verbs]) => [plain(path), Object.keys(verbs)]));
  let seen = 0;
  for (const { name, text } of papers)
    for (const [whole, verbs, path] of text.matchAll(
      /\b((?:GET|PUT|POST|DELETE|PATCH)(?:\\?\|(?:GET|PUT|POST|DELETE|PATCH))*) (\/[\w{}/.-]*)/g,
    )) {
      seen++;
      const tool = /^\/call\/([a-z_]+)$/.exec(path!)?.[1];
      if (tool)
        assert.notEqual((await server.ask('POST', path!, {})).body.error.code, 'tool.not_found', `${name}: ${whole}`);
      const found = offered.get(plain(path!.replace(/^\/call\/\w+$/, '/call/{name}')));
      for (const verb of verbs!.toLowerCase().split(/\\?\|/)) assert.ok(found?.includes(verb), `${name}: ${whole}`);
    }
  assert.ok(seen > 12, `${seen} addresses`);
});
