import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { makeBundle, toolBody } from '../kit/catalog.ts';
import { otServer, type OtServer } from '../ot/bench-server.ts';

let server: OtServer;
before(async () => {
  server = await otServer('');
  const bundle = await makeBundle(server, 'long');
  const argSchema = { type: 'object', properties: { id: {} } };
  const put = (slug: string, code: string) =>
    server.ask(
      'PUT',
      bundle.tool(slug),
      toolBody({ type: 'script', functionImpl: undefined, scriptImpl: { code }, argSchema }),
    );
  assert.equal((await put('show', 'str(args["id"])')).status, 201);
  assert.equal((await put('echo', '{"id": args["id"]}')).status, 201);
});
after(() => server.remove());

const words = (path: string, digits: string): string =>
  `The arguments of long_show would be changed: ${path} is ${digits}, an integer too long to be carried exactly. ` +
  'Send it as a string, if the tool takes one.';

test('a program catches a long integer in arguments as TypeError, in the words of every door', async () => {
  const code =
    'answer = None\ntry:\n    long.show(id=12345678901234567890)\nexcept TypeError as e:\n    answer = str(e)\nanswer';
  const said = await server.run(code);
  assert.ok(said.startsWith(`${words('/args/id', '12345678901234567890')}\nSignature: `), said);
});

test('however a program comes to it, the first time and the next', async () => {
  for (const [code, path] of [
    ['long.show(id=1152921504606846977)', '/args/id'],
    ['long.show(2**60+1)', '/args/id'],
    ['long.show(id={"a": [2**60+1]})', '/args/id/a/0'],
    ['n = 2**60\nlong.show(id=n+1)', '/args/id'],
  ] as const)
    for (let time = 0; time < 3; time++)
      assert.ok((await server.failure(code)).includes(words(path, '1152921504606846977')), code);
  const [{ error }] = JSON.parse(await server.run('parallel([("long.show", {"id": 2**60+1})])'));
  assert.ok(error.startsWith(words('/args/id', '1152921504606846977')), error);
});

test('what a tool can be given unchanged is given, and what a program answers itself stays exact', async () => {
  assert.equal(await server.run('long.show(id=2**53)'), '9007199254740992');
  assert.equal(await server.run('long.show(id=str(2**60+1))'), '1152921504606846977');
  assert.equal(await server.run('[2**60+1, {"a": 2**64}]'), '[1152921504606846977,{"a":18446744073709551616}]');
});

test('a program hands on what a tool answered as it stands there', async () => {
  const echo = 'long.echo(id=1152921504606847000)';
  assert.equal(await server.run(echo), '{"id":1152921504606847000}');
  assert.equal(await server.run(`long.show(id=${echo}["id"])`), '1152921504606847000');
});

test('a stored program answers integers as long as they are', async () => {
  const bundle = await makeBundle(server, 'exact');
  const scriptImpl = { code: '{"id": 2**60+1, "list": [-(2**64)]}' };
  const outputSchema = { type: 'object', properties: { id: { type: 'integer' } } };
  const body = toolBody({ type: 'script', functionImpl: undefined, scriptImpl, outputSchema, argSchema: {} });
  assert.equal((await server.ask('PUT', bundle.tool('make'), body)).status, 201);
  const answer = await fetch(`${server.url}/call/exact_make`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' },
    body: '{"args":{}}',
  });
  const exact = '{"id":1152921504606846977,"list":[-18446744073709551616]}';
  assert.equal(await answer.text(), `{"ok":true,"value":${exact}}`);
  assert.equal(await server.run('exact.make()["id"] + 1'), '1152921504606846978');
});
