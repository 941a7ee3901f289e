import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { parse } from 'yaml';
import { otServer, type OtServer } from './bench-server.ts';

let server: OtServer;
before(async () => {
  server = await otServer();
});
after(() => server.remove());
const yaml = async (code: string): Promise<any> => parse(await server.run(code));

test('ot.tools() lists all tools at level min', async () => {
  const all = await yaml('ot.tools()');
  assert.deepEqual(all, await yaml('ot.tools(info="min")'));
  const names = all.map((each: { name: string }) => each.name);
  for (const name of ['brave.search', 'demo.foo', 'github.search', 'ot.tools', 'project.create'])
    assert.ok(names.includes(name), name);
  for (const each of all) assert.deepEqual(Object.keys(each), ['name', 'description']);
});

test('ot.tools(pattern=) keeps names that contain it, in any case', async () => {
  const names = (await yaml('ot.tools(pattern="SEARCH", info="list")')) as string[];
  for (const name of ['brave.search', 'brave.web_search', 'github.search']) assert.ok(names.includes(name), name);
  assert.ok(names.every((name) => name.includes('search')));
  assert.deepEqual(await yaml('ot.tools(pattern="rave.sea", info="list")'), ['brave.search']);
  assert.deepEqual(await yaml('ot.tools(pattern="nothing like it")'), []);
});

test('ot.tools(info="list") answers names only', async () => {
  const names = await yaml('ot.tools(info="list")');
  assert.ok(names.length > 10 && names.every((each: unknown) => typeof each === 'string'));
});

test('ot.tools(info="min") answers name and description', async () => {
  assert.deepEqual(await yaml('ot.tools(pattern="brave.search")'), [
    { name: 'brave.search', description: 'Search the web with Brave.' },
  ]);
});

test('ot.tools(info="full") answers signature, description and source, and args, returns, example where there are any', async () => {
  const [foo] = await yaml('ot.tools(pattern="demo.foo", info="full")');
  assert.equal(foo.signature, 'demo.foo(text: str)');
  assert.equal(foo.source, 'local');
  assert.deepEqual(foo.args, ['text: The text to choose the colour for.']);
  assert.ok(foo.returns && foo.example && foo.description);
  const [read] = await yaml('ot.tools(pattern="excel.read", info="full")');
  assert.deepEqual(Object.keys(read), ['name', 'signature', 'description', 'source']);
  const [github] = await yaml('ot.tools(pattern="github.list", info="full")');
  assert.equal(github.source, 'proxy:github');
});

test('the signature of a proxied tool comes from its schema: required first, then defaults or a placeholder', async () => {
  const [search] = await yaml('ot.tools(pattern="github.search", info="full")');
  assert.equal(
    search.signature,
    "github.search(query: str, repo: str = '...', limit: int = 10, sort: str | None = None, tags: list = [], " +
      "filter: dict = '...', exact: bool = False, weight: float = '...', either: str | int = '...', odd: Any = '...')",
  );
});

test('the arguments of a proxied tool are "name: description" strings', async () => {
  const [search] = await yaml('ot.tools(pattern="github.search", info="full")');
  assert.deepEqual(search.args.slice(0, 3), [
    'repo: Only in this repository',
    'query: What to look for',
    'limit: (no description)',
  ]);
});

test('ot.config() answers aliases, snippets with descriptions, and servers', async () => {
  const text = await server.run('ot.config()');
  assert.match(
    text,
    /^aliases: \{ws: brave.web-search, alias_f: demo.foo, hunt: brave.search\}\nsnippets: \{.*\}\nservers: \[github\]$/,
  );
  assert.deepEqual(parse(text).snippets.b_q, { description: 'Quick brave search' });
});

test('ot.packs() lists all packs at level min', async () => {
  const all = await yaml('ot.packs()');
  assert.deepEqual(all, await yaml('ot.packs(info="min")'));
  const names = all.map((each: { name: string }) => each.name);
  for (const name of ['brave', 'demo', 'github', 'ot']) assert.ok(names.includes(name), name);
});

test('ot.packs(pattern=) keeps names that contain it, in any case', async () => {
  assert.deepEqual(await yaml('ot.packs(pattern="BRAV", info="list")'), ['brave']);
});

test('ot.packs(info="list") answers names only', async () => {
  assert.ok((await yaml('ot.packs(info="list")')).every((each: unknown) => typeof each === 'string'));
});

test('ot.packs(info="min") answers name, source and tool count', async () => {
  assert.deepEqual(await yaml('ot.packs(pattern="brave")'), [{ name: 'brave', source: 'local', tool_count: 2 }]);
  assert.deepEqual(await yaml('ot.packs(pattern="github")'), [{ name: 'github', source: 'proxy', tool_count: 2 }]);
});

test('ot.packs(info="full") has a header, the source and the tools with descriptions', async () => {
  assert.equal(
    await server.run('ot.packs(pattern="brave", info="full")'),
    '# brave\nsource: local\n\n## Tools\n- brave.search: Search the web with Brave.\n- brave.web_search: Look for pages',
  );
});

test('ot.packs(info="full") includes the instructions of prompts.yaml', async () => {
  assert.match(
    await server.run('ot.packs(pattern="excel", info="full")'),
    /^# excel\nsource: local\n\nAlways name the sheet\.\n\n## Tools\n- excel.read: Read a sheet$/,
  );
});

test('ot.packs(info="full") of a server lists its tools and says proxy', async () => {
  assert.match(
    await server.run('ot.packs(pattern="github", info="full")'),
    /^# github\nsource: proxy\n\n## Tools\n- github.list_files: List files\n- github.search: Search repositories$/,
  );
});

test('ot.aliases() answers all mappings at level min', async () => {
  assert.deepEqual(await yaml('ot.aliases()'), [
    'ws -> brave.web-search',
    'alias_f -> demo.foo',
    'hunt -> brave.search',
  ]);
  assert.deepEqual(await yaml('ot.aliases(info="min")'), await yaml('ot.aliases()'));
});

test('ot.aliases(pattern=) looks at names and targets', async () => {
  assert.deepEqual(await yaml('ot.aliases(pattern="SEARCH", info="list")'), ['ws', 'hunt']);
  assert.deepEqual(await yaml('ot.aliases(pattern="alias", info="list")'), ['alias_f']);
});

test('ot.aliases(info="list") answers names only', async () => {
  assert.deepEqual(await yaml('ot.aliases(info="list")'), ['ws', 'alias_f', 'hunt']);
});

test('ot.aliases(info="min") answers "name -> target"', async () => {
  assert.match(await server.run('ot.aliases(pattern="ws")'), /ws -> brave\.web-search/);
});

test('ot.aliases(info="full") answers name and target', async () => {
  assert.deepEqual(await yaml('ot.aliases(pattern="alias_f", info="full")'), [{ name: 'alias_f', target: 'demo.foo' }]);
});

test('ot.snippets() answers all names with descriptions at level min', async () => {
  assert.deepEqual(await yaml('ot.snippets()'), [
    'brv_research: Search web and extract structured findings',
    'b_q: Quick brave search',
    'pkg: Package versions',
  ]);
});

test('ot.snippets(pattern=) looks at names and descriptions', async () => {
  assert.deepEqual(await yaml('ot.snippets(pattern="PKG", info="list")'), ['pkg']);
  assert.deepEqual(await yaml('ot.snippets(pattern="quick", info="list")'), ['b_q']);
});

test('ot.snippets(info="list") answers names only', async () => {
  assert.deepEqual(await yaml('ot.snippets(info="list")'), ['brv_research', 'b_q', 'pkg']);
});

test('ot.snippets(info="min") answers "name: description"', async () => {
  assert.match(await server.run('ot.snippets(pattern="b_q", info="min")'), /b_q: Quick brave search/);
});

test('ot.snippets(info="full") has description, params with types and defaults, body and example', async () => {
  const text = await server.run('ot.snippets(pattern="pkg", info="full")');
  const definition = parse(text.split('\n\n#')[0]!);
  assert.deepEqual(definition, {
    name: 'pkg',
    description: 'Package versions',
    params: { name: {}, empty: { type: 'str', default: '' }, off: { type: 'bool', default: false } },
    body: '["{{ name }}", "{{ empty }}", {{ off }}]\n',
  });
  assert.match(text, /# Example with defaults:\n# \$pkg name=name\n# Expands to:\n\["name", "", False\]$/);
});

test('ot.snippets(info="full") is formatted as documented', async () => {
  assert.equal(
    await server.run('ot.snippets(pattern="brv_research", info="full")'),
    `name: brv_research
description: Search web and extract structured findings
params:
  topic: {description: "Topic to research"}
  count: {default: 5, description: "Number of sources"}
body: |
  results = brave.search(query="{{ topic }}", count={{ count }})
  llm.transform(input=results, prompt="Extract key findings")

# Example with defaults:
# $brv_research topic=Python
# Expands to:
results = brave.search(query="Python", count=5)
llm.transform(input=results, prompt="Extract key findings")`,
  );
});

test('simple objects are flow maps, lists of objects are block sequences of flow items', async () => {
  assert.equal(await server.run('__format__ = "yaml"\n{"key": "value", "count": 2}'), '{key: value, count: 2}');
  assert.equal(await server.run('ot.packs(pattern="brave")'), '- {name: brave, source: local, tool_count: 2}');
});

test('no answer nests more than two levels in flow style, and every one is YAML', async () => {
  for (const code of [
    'ot.tools(info="full")',
    'ot.config()',
    'ot.health()',
    'ot.stats()',
    'ot.packs()',
    'ot.aliases(info="full")',
    '__format__ = "yaml"\n{"a": {"b": {"c": {"d": 1}}}, "list": [[[[1]]]]}',
  ]) {
    const text = await server.run(code);
    assert.ok(typeof parse(text) === 'object', code);
    for (const line of text.split('\n')) {
      const bare = line.replace(/"(?:\\.|[^"\\])*"|'(?:''|[^'])*'/g, '""');
      let level = 0;
      for (const char of bare) {
        if ('{['.includes(char)) assert.ok(++level <= 2, line);
        if ('}]'.includes(char)) level--;
      }
    }
  }
});

test('in a program the answers are values', async () => {
  assert.equal(await server.run('[t["name"] for t in ot.tools(pattern="demo")]'), '["demo.bar","demo.foo"]');
  assert.equal(await server.run('ot.config()["aliases"]["alias_f"]'), 'demo.foo');
  assert.equal(await server.run('len(ot.packs(info="list")) == len(ot.packs())'), 'true');
});

test('as tools of their own they answer the same', async () => {
  assert.deepEqual((await server.call('ot_aliases', {})).value, await yaml('ot.aliases()'));
  assert.equal((await server.call('ot_version', {})).value, await server.run('ot.version()'));
});

test('a token sees only what it reaches', async () => {
  const token = await server.tokenFor('read', ['ot', 'demo']);
  assert.deepEqual(parse(await server.run('ot.packs(info="list")', token)), ['demo', 'ot']);
  assert.ok(!(await server.run('ot.tools(info="list")', token)).includes('ot.reload'));
  assert.match(await server.failure('brave.search(query="x")', token), /there is no pack 'brave'/);
});

test('a model that calls them over MCP reads YAML', async () => {
  const client = new Client({ name: 'test', version: '1' });
  const requestInit = { headers: { authorization: `Bearer ${server.token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp/b/ot`), { requestInit }));
  const { content } = await client.callTool({ name: 'packs', arguments: { pattern: 'brave' } });
  assert.equal((content as { text: string }[])[0]?.text, '- {name: brave, source: local, tool_count: 2}');
  await client.close();
});
