import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { makeBundle, toolBody } from '../kit/catalog.ts';
import { oubliette } from '../kit/running-server.ts';
import { otServer, type OtServer } from '../ot/bench-server.ts';

// An integer that JavaScript would round is refused with the same words at every door, and nothing is called.
let server: OtServer;
let bundle: Awaited<ReturnType<typeof makeBundle>>;
const words =
  'The arguments of long_show would be changed: /args/id is 12345678901234567890, an integer too long to be carried exactly. ' +
  'Send it as a string, if the tool takes one.';

before(async () => {
  server = await otServer('');
  bundle = await makeBundle(server, 'long');
  const argSchema = { type: 'object', properties: { id: {} }, additionalProperties: true };
  const body = toolBody({
    type: 'script',
    functionImpl: undefined,
    scriptImpl: { code: 'str(args["id"])' },
    argSchema,
  });
  assert.equal((await server.ask('PUT', bundle.tool('show'), body)).status, 201);
});
after(() => server.remove());

const call = (args: string, token?: string) => server.ask('POST', '/call/long_show', `{"args":${args}}`, token);

const rest = async (path: string, accept: string, body: string): Promise<Response> =>
  fetch(server.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.token}`, 'content-type': 'application/json', accept },
    body,
  });

test('REST refuses it with its place, before and behind the router', async () => {
  const body = '{"args":{"id":12345678901234567890}}';
  const paths: [string, string][] = [
    ['/call/long_show', 'application/json'],
    ['/call/long_show', 'text/event-stream'],
    [`${bundle.tool('show')}/invoke`, 'application/json'],
    [`${bundle.tool('show')}/invoke`, 'text/event-stream'],
  ];
  for (const [path, accept] of paths) {
    const answer = await rest(path, accept, body);
    assert.equal(answer.status, 400, path);
    const { error } = (await answer.json()) as { error: { code: string; message: string; details: unknown } };
    assert.equal(error.code, 'args.invalid');
    assert.equal(error.message, words);
    assert.deepEqual(error.details, [{ path: '/args/id', message: words.slice(words.indexOf('is 1234'), -1) }]);
  }
});

test('it is found however deep it lies, and only what would be changed is refused', async () => {
  for (const [args, path] of [
    ['{"id":{"a/b":[1,{"c":9007199254740993}]}}', '/args/id/a~1b/1/c is 9007199254740993,'],
    ['{"id":-9007199254740993}', '/args/id is -9007199254740993,'],
    ['{"id":1152921504606846976}', '/args/id is 1152921504606846976,'],
    ['{"more":1000000000000000000000}', '/args/more is 1000000000000000000000,'],
    [`{"id":${'1'.repeat(400)}}`, `/args/id is ${'1'.repeat(40)}...,`],
  ] as const) {
    const { status, body } = await call(args);
    assert.equal(status, 400, args);
    assert.ok(body.error.message.includes(path), body.error.message);
  }
  for (const [args, shown] of [
    ['{"id":9007199254740992}', '9007199254740992'],
    ['{"id":-9007199254740992}', '-9007199254740992'],
    ['{"id":9007199254740991}', '9007199254740991'],
    ['{"id":100000000000000000000}', '100000000000000000000'],
    ['{"id":1152921504606847000}', '1152921504606847000'],
    ['{"id":"12345678901234567890"}', '12345678901234567890'],
    ['{"id":"[12345678901234567890]"}', '[12345678901234567890]'],
    ['{"id":12345678901234567890.5}', '12345678901234567000'],
    ['{"id":1e300}', '1000000000'],
  ] as const) {
    const { status, body } = await call(args);
    assert.equal(status, 200, args);
    assert.ok(body.value.startsWith(shown), body.value);
  }
});

test('who may not call is told that first, and arguments nested too deeply are still that', async () => {
  const { value } = await server.call('token_create', { name: 'reader', scope: 'read' });
  assert.equal((await call('{"id":12345678901234567890}', value.token)).body.error.code, 'scope.denied');
  assert.equal((await server.ask('POST', '/call/nothing', '{"args":{"id":12345678901234567890}}')).status, 404);
  for (const levels of [300, 100_000]) {
    const { body } = await call(`{"id":${'['.repeat(levels)}12345678901234567890${']'.repeat(levels)}}`);
    assert.match(body.error.message, /\/args is nested too deeply/);
  }
});

const mcp = async (message: string, headers: Record<string, string> = {}): Promise<any[]> => {
  const answer = await fetch(`${server.url}/mcp/b/long`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${server.token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: message,
  });
  const text = await answer.text();
  if (text.startsWith('{')) return [JSON.parse(text)];
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data!));
};

test('MCP answers a result that says so, in both eras, alone and in a batch', async () => {
  const message = (params: string, id = 1): string =>
    `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"show","arguments":{"id":12345678901234567890}${params}}}`;
  const modern =
    ',"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}';
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'show' };
  const viaSdk = { ...headers, 'mcp-name': `=?base64?${Buffer.from('show').toString('base64')}?=` };
  for (const answers of [
    await mcp(message('')),
    await mcp(message(',"task":{"ttl":1}')),
    await mcp(`[${message('')},${message('', 2)}]`),
    await mcp(message(modern), headers),
    await mcp(message(modern), viaSdk),
  ])
    for (const { result, error } of answers) {
      assert.equal(error, undefined, JSON.stringify(error));
      assert.equal(result.isError, true);
      assert.equal(result.content[0].text, words);
    }
});

test('the number of a request is no argument', async () => {
  const [answer] = await mcp(
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"show","arguments":{"id":5},"_meta":{"progressToken":12345678901234567890}}}',
  );
  assert.equal(answer.result.content[0].text, '5');
});

test('an id that would be rounded is refused without one, and never answered as another', async () => {
  const id = '1234567890123456789';
  const request = `{"jsonrpc":"2.0","id":${id},"method":"tools/list"}`;
  for (const body of [request, `[${request},{"jsonrpc":"2.0","id":2,"method":"ping"}]`]) {
    const [answer] = await mcp(body);
    assert.deepEqual([answer.error.code, answer.id], [-32600, null], body);
  }
  const env = { OUBLIETTE_API_KEY: server.token };
  const { out } = await oubliette(['mcp', '--home', server.home], { input: `${request}\n`, env });
  assert.ok(out.startsWith(`{"jsonrpc":"2.0","id":${id},"error":{"code":-32600,`), out);
});

test('a tool is not stored with another integer than it was sent with, apart from bounds', async () => {
  const put = (slug: string, schema: string) =>
    server.ask(
      'PUT',
      bundle.tool(slug),
      JSON.stringify(toolBody({ argSchema: { type: 'object', properties: { text: 'here' } } })).replace(
        '"here"',
        schema,
      ),
    );
  const { status, body } = await put('lost', '{"type":"integer","default":9007199254740993}');
  assert.deepEqual([status, body.error.code], [400, 'request.invalid']);
  const path = '/argSchema/properties/text/default';
  assert.deepEqual(body.error.details, [
    { path, message: 'is 9007199254740993, an integer too long to be kept exactly' },
  ]);
  assert.equal((await put('bound', '{"type":"integer","maximum":18446744073709551615}')).status, 201);
});
