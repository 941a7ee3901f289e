import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { configJsonSchema } from '../src/config/index.ts';
import { isObject } from '../src/schema/index.ts';
import { commandsIn, helpOf, paper, papers, root } from './kit/papers.ts';
import { testServer, type TestServer } from './kit/server.ts';

// docs.test.ts holds that what the papers say is there; here it is that what is there is said.
let server: TestServer;
before(async () => {
  server = await testServer();
});
after(() => server.remove());

const all = papers.map(({ text }) => text).join('\n');
const rowsOf = (text: string): string[] => text.split('\n').filter((line) => line.startsWith('| '));
const quoted = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, words]) => words!);

test('every paper of docs/ is linked from the README', () => {
  const files = globSync('docs/*', { cwd: root });
  assert.ok(files.length > 12);
  assert.deepEqual(
    files.filter((file) => !paper('README.md').includes(`](${file})`)),
    [],
  );
});

test('every route of /openapi.json is in a paper, with its verb', async () => {
  const { paths } = (await server.ask('GET', '/openapi.json')).body as { paths: Record<string, object> };
  const told = new Set(
    [...all.matchAll(/\b((?:[A-Z]+\\?\|)*[A-Z]+) (\/[\w{}/.-]*)/g)].flatMap(([, verbs, path]) =>
      verbs!.split(/\\?\|/).map((verb) => `${verb} ${path}`),
    ),
  );
  const missing = Object.entries(paths)
    .flatMap(([path, verbs]) => Object.keys(verbs).map((verb) => `${verb.toUpperCase()} ${path}`))
    // A folder's own address is that of its files without a path, and MCP has but one verb for a reader.
    .filter((route) => !told.has(route) && !/ \/workspaces\/\{id\}\/files$|^POST \/mcp/.test(route));
  assert.deepEqual(missing, []);
  assert.ok(told.size > 20);
});

test('every command is in the table of docs/command-line.md', async () => {
  const told = new Set(
    rowsOf(paper('docs/command-line.md')).flatMap((row) => {
      let group = '';
      return quoted(row.split(' | ')[0]!).map((words) => {
        if (!words.startsWith('oubliette ')) return `${group} ${words}`;
        const path = words.split(' ').slice(1);
        group = path.slice(0, -1).join(' ');
        return path.join(' ');
      });
    }),
  );
  const missing: string[] = [];
  const walk = async (path: string[]): Promise<void> => {
    const help = await helpOf(path);
    const below = [...commandsIn(help).matchAll(/^ {2}([a-z][a-z-]*)/gm)].map(([, name]) => name!);
    for (const name of below) if (name !== 'help') await walk([...path, name]);
    const isGroup = below.length > 0 && !help.includes('<file>');
    if (path.length > 0 && !isGroup && !told.has(path.join(' '))) missing.push(path.join(' '));
    assert.match(help, /\nExamples:\n {2}\S/, `${path.join(' ')} has no example`);
  };
  await walk([]);
  assert.deepEqual(missing, []);
  assert.ok(told.size > 50);
});

interface Shown {
  name: string;
  slug: string;
  bundleSlug: string;
  level: string;
}

test('every tool that comes with the server is in docs/built-in-tools.md, those of its own with their level', async () => {
  const path = '/tools/tools?recommendedPageSize=256&includeDisabled=true';
  const { tools } = (await server.ask('GET', path)).body as { tools: Shown[] };
  const rows = rowsOf(paper('docs/built-in-tools.md'));
  const levels = new Map<string, string>();
  for (const row of rows) {
    const [names, kinds] = row.slice(2, -2).split(' | ');
    if (!/^(read|write|admin)(; (read|write|admin))*$/.test(kinds ?? '')) continue;
    const parts = names!.split(/; |;$/);
    kinds!.split('; ').forEach((level, at) => {
      for (const name of quoted(parts[at]!)) levels.set(name, level);
    });
  }
  assert.ok(levels.size > 40);
  for (const { name, slug, bundleSlug, level } of tools) {
    const row = rows.find((each) => each.startsWith(`| \`${bundleSlug}\` |`));
    if (levels.has(name)) assert.equal(levels.get(name), level, name);
    else if (bundleSlug === 'ot') assert.match(paper('docs/code-mode.md'), new RegExp(`\`ot\\.${slug}\\(`));
    else assert.ok(row && quoted(row).includes(name.slice(bundleSlug.length + 1) || name), `${name} is in no row`);
    levels.delete(name);
  }
  assert.deepEqual([...levels.keys()], [], 'only what is there');
});

test('every setting is named in its row of docs/configuration.md, with the default that holds', async () => {
  const rows = rowsOf(paper('docs/configuration.md'));
  const { properties } = configJsonSchema() as { properties: Record<string, unknown> };
  for (const [section, schema] of Object.entries(properties)) {
    const text = rows.filter((each) => new RegExp(`^\\| \`${section}[.\`]`).test(each)).join('\n');
    for (const key of namesIn(schema)) assert.match(text, new RegExp(`\\b${key}\\b`), `${section}: ${key}`);
  }
  const { settings } = (await server.call('settings_get')).value;
  const { output, code, sandbox, limits, http, docs } = settings;
  for (const [section, held] of [
    ['output', `${output.maxInlineBytes} bytes, ${output.resultTtlSeconds} s, ${output.previewLines} lines`],
    ['docs.baseUrl', `\`${docs.baseUrl}\``],
    ['http', `${http.maxBodyBytes / 2 ** 20} MiB bodies`],
    ['code', `${code.timeoutMs / 1000} s, ${code.maxMemoryMb} MB, ${code.maxCalls} calls`],
    ['agents', `\`default: ${settings.agents.default}\``],
    [
      'sandbox',
      `${sandbox.driver}, ${sandbox.level}, ${sandbox.memoryMb} MB, ${sandbox.pids} processes, ${sandbox.cpus} CPUs`,
    ],
    [
      'limits',
      `${limits.depth}, ${limits.agents}, ${limits.costUsd} USD, ${limits.sessionsPerProject}, ${limits.idleMinutes} min, ` +
        `${limits.callerTimeoutMs / 1000} s, ${limits.reconnectGraceMs / 1000} s`,
    ],
  ])
    assert.ok(
      rows.some((row) => row.startsWith(`| \`${section}\` | ${held} |`)),
      `${section}: ${held}`,
    );
});

/** The keys that a person may write in a section; those inside `oauth` are shown by an example. */
function namesIn(schema: unknown): string[] {
  if (!isObject(schema)) return [];
  const own = isObject(schema['properties']) ? Object.entries(schema['properties']) : [];
  const inner = ['items', 'anyOf', 'patternProperties'].flatMap((key) => Object.values(schema[key] ?? {}));
  return [
    ...own.flatMap(([name, below]) => [name, ...(name === 'oauth' ? [] : namesIn(below))]),
    ...inner.flatMap(namesIn),
    ...(isObject(schema['items']) ? namesIn(schema['items']) : []),
  ];
}

test('every kind of event is in the table of docs/sessions.md, with all that it carries', () => {
  const source = readFileSync(join(root, 'src', 'schema', 'event.ts'), 'utf8');
  const body = /export type EventBody =([^]*?);\n\n/.exec(source)![1]!.replaceAll(/: \{[^{}]*\}\[\]/g, '');
  const rows = rowsOf(paper('docs/sessions.md'));
  const kinds = [...body.matchAll(/\{\s*type: '(\w+)'([^{}]*)\}/g)];
  assert.ok(kinds.length >= 14, `${kinds.length} kinds`);
  for (const [, kind, rest] of kinds) {
    const row = rows.find((each) => quoted(each.split(' | ')[0]!).includes(kind!)) ?? '';
    assert.ok(row, `${kind} is in no row`);
    for (const [, field] of rest!.matchAll(/(\w+\??)(?::|;|$)/gm))
      if (field !== 'unknown' && !/^[A-Z]|^(string|number|boolean)$/.test(field!))
        assert.ok(quoted(row).includes(field!), `${kind}: ${field}`);
  }
});
