import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { makeBundle } from '../kit/catalog.ts';
import { until } from '../kit/until.ts';
import { config, otServer, type OtServer } from './bench-server.ts';

let server: OtServer;
before(async () => {
  server = await otServer();
});
after(() => server.remove());

const docs = 'https://onetool.beycom.online/reference/tools';

test('without a query help is an overview: discovery, info levels, examples, tips', async () => {
  const text = await server.run('ot.help()');
  for (const part of [
    '## Discovery',
    'ot.tools()',
    'ot.packs()',
    '## Info levels',
    'info="list"',
    'info="min"',
    'info="full"',
    '## Examples',
    '## Tips',
  ])
    assert.ok(text.includes(part), part);
});

test('the exact name of a tool gives its help in full', async () => {
  assert.equal(
    await server.run('ot.help(query="brave.search")'),
    `# brave.search

Search the web with Brave.
Answers titles and addresses.

## Signature
brave.search(query: str, count: int = 5)

## Arguments
- query (str, required): What to look for
- count (int, default 5): (no description)

## Returns
dict

## Example
brave.search(query=...)

Documentation: ${docs}/brave-search/`,
  );
  assert.match(
    await server.run('ot.help(query="demo.foo")'),
    /## Arguments\n- text \(str, required\): .+\n\n## Returns\nA colour word, such as "red"\.\n\n## Example\ndemo\.foo\(text="hello"\)/,
  );
  assert.match(await server.run('ot.help(query="ot.version")'), /## Arguments\n\(none\)\n\n## Returns/);
  assert.match(await server.run('ot.help(query="github.search")'), /## Signature\ngithub\.search\(query: str, repo/);
});

test('the exact name of a pack gives its instructions, tools and address', async () => {
  assert.equal(
    await server.run('ot.help(query="firecrawl")'),
    `# firecrawl\n\nCrawl politely.\n\n## Tools\n- firecrawl.crawl: Crawl a site\n\nDocumentation: ${docs}/firecrawl/`,
  );
});

test('a query with $ gives the help of a snippet', async () => {
  const text = await server.run('ot.help(query="$brv_research")');
  for (const part of [
    '# $brv_research',
    'Search web and extract structured findings',
    'count: {default: 5',
    'body: |',
    '{{ topic }}',
    '$brv_research topic=Python',
  ])
    assert.ok(text.includes(part), part);
});

test('the name of an alias gives its target and a hint', async () => {
  const text = await server.run('ot.help(query="hunt")');
  assert.match(
    text,
    /^# hunt\n\nAlias for: brave\.search\n\nUsage: hunt\(query: str, count: int = 5\) is the same as brave\.search\(\.\.\.\)/,
  );
});

test('other queries search and group what they find by type', async () => {
  const text = await server.run('ot.help(query="web fetch")');
  assert.match(text, /## Tools\n(?:- .*\n)*- web\.fetch: Fetches one address/);
  const brave = await server.run('ot.help(query="brav")');
  assert.match(brave, /## Tools\n[\s\S]*- brave\.search[\s\S]*\n\n## Packs\n- brave/);
  assert.match(brave, /## Snippets\n- \$b_q: Quick brave search/);
  assert.match(brave, /## Aliases\n- /);
  assert.ok(!(await server.run('ot.help(query="colour word")')).includes('## Snippets'), 'empty groups are left out');
});

test('typos find what was meant, best first', async () => {
  assert.match(await server.run('ot.help(query="scaffoldl")'), /- scaffold\.make: Make a project/);
  assert.match(await server.run('ot.help(query="frirecrawl")'), /## Packs\n- firecrawl/);
  const [first] = parse(await server.run('ot.help(query="scaffoldl make", info="list")'));
  assert.equal(first, 'scaffold.make');
  // By name brave would come first; only its description speaks of the web.
  const names = parse(await server.run('ot.help(query="web", info="list")')) as string[];
  assert.deepEqual(
    names.filter((name) => name === 'brave' || name === 'web'),
    ['web', 'brave'],
  );
});

test('info="list" answers names only, also for an exact name', async () => {
  const names = parse(await server.run('ot.help(query="web", info="list")'));
  assert.ok(
    names.includes('web.fetch') && names.includes('web') && names.every((each: unknown) => typeof each === 'string'),
    String(names),
  );
  assert.ok(Array.isArray(parse(await server.run('ot.help(query="brave.search", info="list")'))));
});

test('info="min" is the default and answers names with brief descriptions', async () => {
  const text = await server.run('ot.help(query="brave")');
  assert.equal(text, await server.run('ot.help(query="brave", info="min")'));
  assert.match(text, /- brave\.search: Search the web with Brave\.\n- brave\.web_search: Look for pages/);
});

test('info="full" answers everything there is', async () => {
  const text = await server.run('ot.help(query="brave.search", info="full")');
  for (const part of [
    '# brave.search',
    'Source: local',
    'Level: read',
    'Version: v1',
    'brave_search',
    'Argument schema: {',
    'Output schema: {',
    docs,
  ])
    assert.ok(text.includes(part), part);
});

test('documentation addresses use the pack name, or its other name in the documentation', async () => {
  await makeBundle(server, 'db');
  await makeBundle(server, 'ground');
  for (const [pack, slug] of [
    ['brave', 'brave-search'],
    ['code', 'code-search'],
    ['db', 'database'],
    ['ground', 'grounding-search'],
    ['llm', 'transform'],
    ['web', 'web-fetch'],
    ['excel', 'excel'],
    ['github', 'github'],
  ] as const)
    assert.ok((await server.run(`ot.help(query="${pack}")`)).endsWith(`Documentation: ${docs}/${slug}/`), pack);
  assert.ok((await server.run('ot.help(query="llm.transform")')).endsWith(`Documentation: ${docs}/transform/`));
});

test('a pack that Python would misread is documented under its own name', async () => {
  await makeBundle(server, 'json');
  const text = await server.run('ot.help(query="json_")');
  assert.match(text, /^# json_\n/);
  assert.ok(text.includes(`${docs}/json/`));
});

test('of a query without an end the beginning is looked for', async () => {
  const text = await server.run('ot.help(query="abcdefghij klmnopqrst " * 20000)');
  assert.match(text, /^No matches found for '(?:abcdefghij klmnopqrst ?){1,10}a?b?c?[a-z]*'\. /);
  assert.match(await server.run('ot.help(query="firecrawl " * 20000)'), /^# Matches for[^]*- firecrawl: /);
});

test('nothing found says so and points to the lists', async () => {
  const text = await server.run('ot.help(query="xyznonexistent")');
  assert.match(text, /No matches found for 'xyznonexistent'.*ot\.tools\(\).*ot\.packs\(\)/);
  assert.match(await server.run('ot.help(query="?!")'), /^No matches found for '\?!'/);
});

test('a server is called as the configuration calls it', async () => {
  await writeFile(`${server.home}/config.yaml`, config.replace('  github:', '  code-host:'));
  await server.run('ot.reload()');
  await until(async () => (await server.run('ot.tools(pattern="code_host.", info="list")')) !== '[]');
  assert.ok((await server.run('ot.help(query="code-host")')).endsWith(`Documentation: ${docs}/code-host/`));
  assert.match(
    await server.run('ot.tools(pattern="code_host.search", info="full")'),
    /source: "?proxy:code-host"?[,}]/,
  );
  await writeFile(`${server.home}/config.yaml`, config);
  await server.run('ot.reload()');
});

test('the base of documentation addresses can be configured', async () => {
  await writeFile(`${server.home}/config.yaml`, `${config}\ndocs: { baseUrl: "https://docs.example.org/tools" }\n`);
  await server.run('ot.reload()');
  const text = await server.run('ot.help(query="brave")');
  await writeFile(`${server.home}/config.yaml`, config);
  await server.run('ot.reload()');
  assert.ok(text.includes('https://docs.example.org/tools/brave-search/'), text);
});
