import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { otServer, type OtServer } from '../ot/bench-server.ts';
import { patient } from '../kit/patience.ts';
import { until } from '../kit/until.ts';

let server: OtServer;
let client: Client;
before(async () => {
  server = await otServer();
  client = await connect(server.token);
});
after(async () => {
  await client.close();
  await server.remove();
});

async function connect(token: string, path = '/mcp/run'): Promise<Client> {
  const made = new Client({ name: 'test', version: '1' });
  await made.connect(
    new StreamableHTTPClientTransport(new URL(server.url + path), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    }),
  );
  return made;
}
async function mcp(args: Record<string, unknown>, who = client) {
  const { content, isError, _meta } = await who.callTool({ name: 'run', arguments: args });
  return {
    text: (content as { text: string }[])[0]!.text,
    isError: isError ?? false,
    meta: _meta as Record<string, unknown> | undefined,
  };
}

test('the last value is the answer, printed text comes before it', async () => {
  for (const [code, expected] of [
    ['1 + 1', '2'],
    ['"text as it is"', 'text as it is'],
    ['{"a": [1, 2.5, None, True], "b": "x"}', '{"a":[1,2.5,null,true],"b":"x"}'],
    ['None', 'None'],
    ['x = 1', 'Code executed successfully (no return value)'],
    ['print("one")\nprint("two")\n3', 'one\ntwo\n3'],
    ['print("only", end="")\nx = 1', 'only\nCode executed successfully (no return value)'],
    ['print("said")', 'said\nNone'],
    ['return [1, 2]', '[1,2]'],
    ['```python\n"fenced"\n```', 'fenced'],
    ['`"ticked"`', 'ticked'],
    ['__ot "prefixed"', 'prefixed'],
    ['__ot\n```\n"both"\n```', 'both'],
    ['__format__ = "yaml"\n{"a": 1, "b": [1, 2]}', 'a: 1\nb: [1, 2]'],
    ['__format__ = "yaml"\n{"id": 1234567890123456789, "x": 1e300}', '{id: 1234567890123456789, x: 1e+300}'],
    ['__format__ = "json"\not.packs(pattern="demo", info="list")', '["demo"]'],
    ['hunt("x", cou=3)', '{"query":"x","count":3}'],
    ['ws(q="y")', 'found y'],
    ['$b_q q="it\'s \\"quoted\\""', '{"query":"it\'s \\"quoted\\"","count":5}'],
    ['$b_q\nq: two words\n', '{"query":"two words","count":5}'],
  ] as const) {
    assert.equal(await server.run(code), expected, code);
    assert.equal((await mcp({ code })).text, expected, code);
  }
});

test('command is accepted for code', async () => {
  assert.equal((await mcp({ command: '2 + 2' })).text, '4');
  assert.equal((await server.call('run', { command: '2 + 2' })).value, '4');
});

test('a program that fails is an error result with the line of its own code', async () => {
  const { text, isError } = await mcp({ code: 'x = 1\nprint("so far")\nx / 0' });
  assert.equal(isError, true);
  assert.equal(text, 'ZeroDivisionError: division by zero\n  line 3: x / 0\n\nPrinted before it failed:\nso far');
  assert.deepEqual(await server.call('run', { code: '1 / 0' }), {
    ok: false,
    error: {
      code: 'program.failed',
      message: 'ZeroDivisionError: division by zero\n  line 1: 1 / 0',
      retryable: false,
    },
  });
});

test('unknown names list what there is and what is near', async () => {
  assert.match(
    await server.failure('brve.search(query="x")'),
    /there is no pack 'brve'\. Did you mean 'brave'\? Packs: .*brave, /,
  );
  assert.match(
    await server.failure('brave.serch(query="x")'),
    /Did you mean brave\.search\? Functions: brave\.search, brave\.web_search/,
  );
  assert.match(
    await server.failure('brave.search(quary="x")'),
    /unexpected keyword argument 'quary'. Did you mean 'query'\?\nSignature: brave\.search\(query: str, count: int = 5\)/,
  );
});

test('a wrong type is refused, not coerced, and the signature is shown', async () => {
  assert.match(
    await server.failure('brave.search(query="x", count="3")'),
    /^TypeError: .*\/args\/count must be integer.*\nSignature: brave\.search\(query: str, count: int = 5\)\n {2}line 1/,
  );
});

test('what a tool fails with is an exception of its kind', async () => {
  const caught = (type: string): string =>
    `try:\n    web.fetch(url="http://nowhere.invalid/")\nexcept ${type} as e:\n    print(str(e))`;
  assert.match(await server.run(caught('PermissionError')), /^Host nowhere\.invalid is not in allowedHosts/);
  assert.match(await server.failure(caught('ValueError')), /^PermissionError: /);
  assert.match(await server.failure('ot.result(handle="x", offset=0)'), /^ValueError: offset must be/);
});

test('a program marks the foreign packs it called', async () => {
  const foreign = await mcp({ code: 'github.search(query="x")["called"]' });
  assert.equal(foreign.text, 'search');
  assert.deepEqual(foreign.meta?.['oubliette/foreign'], ['github']);
  assert.equal((await mcp({ code: 'demo.foo(text="x")' })).meta?.['oubliette/foreign'], undefined);
});

test('upstream names with dashes are reachable by underscores', async () => {
  assert.equal(await server.run('github.list_files()["called"]'), 'list-files');
});

test('every inner call needs its own level', async () => {
  const token = await server.tokenFor('read');
  assert.equal(await server.run('brave.search("x")["query"]', token), 'x');
  const refused = await server.failure('project.create(name="no")', token);
  assert.match(refused, /^PermissionError: project_create needs level write/);
  assert.doesNotMatch(refused, /Signature/);
  assert.equal(
    await server.run(
      'try:\n    project.create(name="no")\nexcept PermissionError as e:\n    said = "denied"\nsaid',
      token,
    ),
    'denied',
  );
});

test('programs may run programs, eight deep, on one budget', async () => {
  const nest = (depth: number): string => (depth === 0 ? '"bottom"' : `run(code=${JSON.stringify(nest(depth - 1))})`);
  assert.equal(await server.run(nest(3)), 'bottom');
  assert.match(await server.failure(nest(10)), /nested too deeply[^]*\n  line 1: run\(/);
  const calls = (count: number): string => `for i in range(${count}):\n    demo.foo(text="x")\n"done"`;
  assert.equal(await server.run(calls(1000)), 'done');
  assert.match(await server.failure(calls(1001)), /too many calls[^]*\n  line 2: demo\.foo\(text="x"\)$/);
  const caught = calls(1001)
    .replace('    demo', '  try:\n    demo')
    .replace('\n"done"', '\n  except Exception: pass\n"done"');
  assert.match(await server.failure(caught), /too many calls/, 'no program goes on by catching it');
  const half = `run(code=${JSON.stringify(calls(499))})`;
  assert.equal(await server.run(`${half}\n${half}`), 'done');
  assert.match(await server.failure(`${half}\n${half}\ndemo.foo(text="x")`), /too many calls/);
});

test('calls of a program are recorded under their own names', async () => {
  const usage = async (): Promise<number> =>
    (await server.ask('GET', '/tools/tools/search?q=foo')).body.tools.find(
      (each: { name: string }) => each.name === 'demo_foo',
    ).usage.callCount;
  const before = await usage();
  await server.run('[demo.foo(text=str(i)) for i in range(4)]');
  assert.equal((await usage()) - before, 4);
});

test('four endless programs of one token do not hold up another', async () => {
  const [greedy, other] = [await server.tokenFor('read'), await server.tokenFor('read')];
  const control = new AbortController();
  const endless = Array.from({ length: 4 }, () =>
    fetch(`${server.url}/call/run`, {
      method: 'POST',
      headers: { authorization: `Bearer ${greedy}`, 'content-type': 'application/json' },
      body: JSON.stringify({ args: { code: 'while True: pass' } }),
      signal: control.signal,
    }).catch(() => undefined),
  );
  await new Promise((resolve) => setTimeout(resolve, 300));
  const times: number[] = [];
  for (let i = 0; i < 15; i++) {
    const startedAt = performance.now();
    assert.equal(await server.run('demo.foo(text="x") != ""', other), 'true');
    times.push(performance.now() - startedAt);
  }
  times.sort((a, b) => a - b);
  assert.ok(times[7]! < patient(250), `median ${times[7]} ms`);
  control.abort();
  await Promise.all(endless);
});

test('a client that goes away ends its program', async () => {
  const control = new AbortController();
  const gone = fetch(`${server.url}/call/run`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ args: { code: 'while True: pass' } }),
    signal: control.signal,
  });
  setTimeout(() => control.abort(), 100);
  await assert.rejects(gone);
  await until(async () => {
    const { rows } = (await server.call('audit_list', { tool: 'run', limit: 10 })).value;
    return rows.some(({ outcome }: any) => outcome === 'tool.cancelled');
  });
});

test('no file, network, environment or process is in reach', async () => {
  for (const code of [
    'open("/etc/passwd").read()',
    'import os\nos.environ',
    'import os\nos.listdir("/")',
    'import socket',
    'import subprocess',
    '__import__("os")',
    'from pathlib import Path\nPath("/etc/passwd").read_text()',
    'exec("1")',
  ])
    assert.match(await server.failure(code), /Error/, code);
});
