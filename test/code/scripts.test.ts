import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { makeBundle, toolBody } from '../kit/catalog.ts';
import { otServer, type OtServer } from '../ot/bench-server.ts';

let server: OtServer;
let bundle: Awaited<ReturnType<typeof makeBundle>>;
before(async () => {
  server = await otServer('');
  bundle = await makeBundle(server, 'multi');
});
after(() => server.remove());

const script = (code: string, change: Record<string, unknown> = {}) =>
  toolBody({ type: 'script', functionImpl: undefined, scriptImpl: { code }, ...change });
const put = (slug: string, body: object) => server.ask('PUT', bundle.tool(slug), body);
const cities = {
  type: 'object',
  properties: { city: { type: 'string' }, 'max-count': { type: 'integer', default: 2 }, note: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};

test('a script calls other tools; its arguments are variables', async () => {
  const code =
    'colours = [demo.foo(text=city + str(i)) for i in range(max_count)]\n{"city": city, "colours": colours, "note": note, "given": args}';
  assert.equal((await put('colours', script(code, { argSchema: cities }))).status, 201);
  const { value } = await server.call('multi_colours', { city: 'Bern' });
  assert.equal(value.city, 'Bern');
  assert.equal(value.colours.length, 2);
  assert.equal(value.note, null);
  assert.deepEqual(value.given, { city: 'Bern', 'max-count': 2 });
  assert.equal(await server.run('multi.colours(city="Bern")["city"]'), 'Bern');
});

test('an argument whose name Python keeps for itself gets an underscore more', async () => {
  const argSchema = { type: 'object', properties: { from: { type: 'string' }, in: { type: 'string' } } };
  const code = '[from_, in_, args["from"]]';
  assert.equal((await put('between', script(code, { argSchema }))).status, 201);
  assert.deepEqual((await server.call('multi_between', { from: 'a' })).value, ['a', null, 'a']);
});

test('an argument with the name of a builtin is the argument, also inside functions and after a call', async () => {
  const argSchema = { type: 'object', properties: { id: {}, type: {}, list: {}, max: {}, filter: {} } };
  const code = 'def show():\n    return [id, type, len(list), max]\ndemo.foo(text="x")\n[show(), id, filter]';
  assert.equal((await put('builtins', script(code, { argSchema }))).status, 201);
  const given = { id: 7, type: 'a', list: [1, 2], max: 3 };
  assert.deepEqual((await server.call('multi_builtins', given)).value, [[7, 'a', 2, 3], 7, null]);
  const broken = 'x = 1\nx + id["a"]';
  assert.equal((await put('broken-line', script(broken, { argSchema }))).status, 201);
  assert.match(
    (await server.call('multi_broken_line', { id: {} })).error.message,
    /KeyError[^]*line 2: x \+ id\["a"\]/,
  );
});

test('what is wrong with a program is found when it is stored', async () => {
  for (const [code, reason] of [
    ['x = (', /SyntaxError/],
    ['class A: pass', /class definitions[\s\S]*Use dicts/],
    ['nothere.call()', /there is no pack 'nothere'/],
    ['demo.fooo(text="x")', /Did you mean demo\.foo\?/],
    ['demo.foo(txt="x")', /unexpected keyword argument 'txt'/],
  ] as const) {
    const { status, body } = await put('wrong', script(code));
    assert.equal(status, 400, code);
    assert.equal(body.error.code, 'request.invalid');
    assert.equal(body.error.details[0].path, '/scriptImpl/code');
    assert.match(body.error.message, reason);
  }
});

test('a script whose tool is gone is disabled with the reason, and heals', async () => {
  const needed = await makeBundle(server, 'needed');
  const one = needed.tool('one');
  const body = toolBody({ access: 'read' });
  assert.equal((await server.ask('PUT', one, body)).status, 201);
  assert.equal((await put('depends', script('needed.one(text="x")', { argSchema: { type: 'object' } }))).status, 201);
  assert.equal((await server.call('multi_depends', {})).ok, true);
  await server.ask('DELETE', one);
  const { body: seen } = await server.ask('GET', bundle.tool('depends'));
  assert.equal(seen.isEnabled, false);
  assert.equal(seen.disabledReason, 'it needs needed.one, which is not there');
  const refused = await server.ask('POST', '/call/multi_depends', { args: {} });
  assert.equal(refused.status, 409);
  assert.equal(refused.body.error.message, 'Tool multi_depends is disabled: it needs needed.one, which is not there');
  await server.ask('PUT', one, body);
  assert.equal((await server.ask('GET', bundle.tool('depends'))).body.isEnabled, true);
  assert.equal((await server.call('multi_depends', {})).ok, true);
});

test('a script that fails says where', async () => {
  await put('fails', script('x = 1\nraise ValueError("no " + str(x))', { argSchema: { type: 'object' } }));
  const answer = await server.call('multi_fails', {});
  assert.deepEqual(answer, {
    ok: false,
    error: {
      code: 'program.failed',
      message: 'ValueError: no 1\n  line 2: raise ValueError("no " + str(x))',
      retryable: false,
    },
  });
});

test('a script is write unless it says otherwise, and its calls need the level of whoever runs it', async () => {
  await put('plain', script('1', { argSchema: { type: 'object' } }));
  await put('sneaky', script('project.create(name="sneaky")', { argSchema: { type: 'object' }, access: 'read' }));
  const token = await server.tokenFor('read');
  assert.equal((await server.ask('POST', '/call/multi_plain', { args: {} }, token)).status, 403);
  const answer = await server.call('multi_sneaky', {}, token);
  assert.match(answer.error.message, /PermissionError: project_create needs level write/);
});

test('a script may call itself only as deep as programs may nest', async () => {
  assert.equal(
    (
      await put(
        'loop',
        script('try:\n    multi.loop()\nexcept AttributeError:\n    pass', { argSchema: { type: 'object' } }),
      )
    ).status,
    201,
  );
  assert.match((await server.call('multi_loop', {})).error.message, /nested too deeply/);
});
