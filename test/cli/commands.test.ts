import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { cliFile } from '../kit/programs.ts';
import { oubliette, startTestServer, type TestServer } from '../kit/running-server.ts';
import { until } from '../kit/until.ts';

let server: TestServer;
let scratch: string;
before(async () => {
  server = await startTestServer();
  scratch = await mkdtemp(join(tmpdir(), 'oub-cli-'));
});
after(async () => {
  await server.stop();
  await rm(scratch, { recursive: true, force: true });
});
const cli = (args: string[], input?: string) => oubliette(args, { env: { OUBLIETTE_HOME: server.home }, input });

const shade = {
  displayName: 'Shade',
  isEnabled: true,
  type: 'function',
  functionImpl: { func: 'demo.foo' },
  argSchema: {
    type: 'object',
    properties: { text: { type: 'string' } },
    required: ['text'],
    additionalProperties: false,
  },
};

test('lists tools for people, and the whole of them as JSON', async () => {
  const human = await cli(['tools']);
  assert.equal(human.code, 0);
  assert.match(human.out, /^demo\n {2}demo_bar {2,}.+\n {2}demo_foo {2,}/m);
  assert.doesNotMatch(human.out, /\u001b/, 'no colours where there is no terminal');
  const { tools } = (await cli(['tools', '--json'])).json;
  const foo = tools.find((tool: { name: string }) => tool.name === 'demo_foo');
  assert.equal(foo.bundleSlug, 'demo');
  assert.ok(foo.argSchema);
  const narrowed = (await cli(['tools', '--bundle', 'demo', '--json'])).json.tools;
  assert.deepEqual(new Set(narrowed.map((tool: { bundleSlug: string }) => tool.bundleSlug)), new Set(['demo']));
});

test('calls a tool with arguments from the line, a file and standard input', async () => {
  const fromLine = await cli(['call', 'demo_foo', '{"text":"hi"}', '--json']);
  assert.equal(fromLine.code, 0);
  assert.equal(fromLine.json.ok, true);
  const word = fromLine.json.value;
  const file = join(scratch, 'args.json');
  await writeFile(file, '{"text":"hi"}');
  assert.equal((await cli(['call', 'demo_foo', `@${file}`])).out, `${word}\n`);
  assert.equal((await cli(['call', 'demo_foo', '-'], '{"text":"hi"}')).out, `${word}\n`);
});

test('an integer that would be rounded reaches the server as it is written, and is refused there', async () => {
  const { code, err } = await cli(['call', 'demo_foo', '{"text":12345678901234567890}']);
  assert.equal(code, 1);
  assert.match(err, /: \/args\/text is 12345678901234567890, an integer too long to be carried exactly\./);
});

test('exit codes tell a failure (1) from bad usage (2)', async () => {
  const cases: [string[], number, RegExp][] = [
    [
      ['call', 'demo_foo', '{}'],
      1,
      /^error: The arguments do not fit the schema of demo_foo: \/args\/text is required\n$/,
    ],
    [['call', 'demo_fooo', '{}'], 1, /^error: There is no tool demo_fooo\. Did you mean demo_foo/],
    [['call', 'xyzzy_plugh', '{}'], 1, /^error: There is no tool xyzzy_plugh\. All there are: oubliette tools\n$/],
    [['call', 'demo_foo', '{nope'], 2, /must be JSON/],
    [['call', 'demo_foo', '[1]'], 2, /must be a JSON object/],
    [['call', 'demo_foo', '@/does/not/exist'], 2, /cannot be read/],
    [['call'], 2, /missing required argument/],
    [['frobnicate'], 2, /unknown command/],
    [['token', 'create'], 2, /required option/],
    [
      ['session', 'list', '--status', 'bogus'],
      2,
      /Allowed choices are starting, running, idle, ended, failed, timed_out/,
    ],
    [['project', 'create', 'x', '--driver', 'bogus'], 2, /Allowed choices are auto, docker, podman, bubblewrap/],
    [['token', 'create', '--name', 'x', '--scope', 'king'], 2, /Allowed choices are read, write, admin/],
    [['token', 'create', '--name', 'x', '--scope', 'read', '--ttl', 'soon'], 2, /is no time/],
    [['tools', '--sideways'], 2, /unknown option/],
    [['token', 'create', '--name', 'x', '--scope', 'read', '--project', 'nowhere'], 1, /There is no project nowhere/],
    [['tools', 'foo', '--bundle', 'nowhere'], 1, /There is no bundle nowhere/],
    [['session', 'follow', '..'], 1, /There is no session \.\./],
    [['session', 'follow', 'ses_x', '--after', 'now'], 2, /now is no count/],
    [['project', 'logs', 'x', '--tail', 'all'], 2, /all is no count/],
    [['server', 'logs', 'x', '--tail', '0'], 2, /0 is no count/],
    [['pack', 'new', 'demo'], 1, /There is a bundle demo already/],
    [['backup', scratch], 1, /^error: .* cannot be written \(EISDIR\)\n$/],
    [['pack', 'new', 'x', '--home', '/dev/null'], 1, /^error: .* cannot be written \(ENOTDIR\)\n$/],
    [['token', 'revoke', 'tok_nothere'], 1, /tok_nothere/],
    [['config', 'unset', 'limits.dept'], 1, /there is no setting limits\.dept\. Did you mean limits\.depth\?/],
    [['bundle', 'disable', 'nowhere'], 1, /There is no bundle nowhere/],
  ];
  for (const [args, code, message] of cases) {
    const ran = await cli(args);
    assert.equal(ran.code, code, args.join(' '));
    assert.match(ran.err, message, args.join(' '));
    assert.equal(ran.out, '', args.join(' '));
  }
  const asJson = await cli(['call', 'demo_fooo', '{}', '--json']);
  assert.equal(asJson.code, 1);
  assert.equal(JSON.parse(asJson.err).error.code, 'tool.not_found');
});

test('a search within a bundle finds what would be far behind in all of them', async () => {
  const { id } = (await cli(['bundle', 'create', 'crowd', '--json'])).json;
  for (let at = 0; at < 60; at++) {
    const path = `/tools/bundles/${id}/tools/zebra-${at}/version/v1`;
    assert.equal((await server.fetch(path, { method: 'PUT', json: shade })).status, 201);
  }
  const lone = (await cli(['bundle', 'create', 'lone', '--json'])).json;
  const last = { ...shade, displayName: 'Lone', description: 'Has a zebra too.' };
  const path = `/tools/bundles/${lone.id}/tools/other/version/v1`;
  assert.equal((await server.fetch(path, { method: 'PUT', json: last })).status, 201);
  const found = await cli(['tools', 'zebra', '--bundle', 'lone', '--json']);
  assert.deepEqual(
    found.json.tools.map((tool: { name: string }) => tool.name),
    ['lone_other'],
  );
  const all = await cli(['tools', 'zebra', '--json']);
  assert.equal(all.json.tools.length, 50);
  assert.match(all.err, /best 50/);
});

test('what answers at OUBLIETTE_URL but is no server of ours is called that', async (t) => {
  const other = createServer((request, response) => {
    response.writeHead(request.method === 'GET' ? 200 : 404).end('<html>\n<b>hello</b></html>');
  }).listen(0, '127.0.0.1');
  await once(other, 'listening');
  t.after(() => other.close());
  const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
  const env = { OUBLIETTE_URL: url, OUBLIETTE_TOKEN: 'oub_x' };
  for (const [args, status] of [
    [['tools'], 200],
    [['project', 'list'], 404],
  ] as const) {
    const ran = await oubliette([...args], { env });
    assert.equal(ran.code, 1);
    assert.equal(
      ran.err,
      `error: What answers at ${url} is no Oubliette server (status ${status}: <html> <b>hello</b></html>). Check OUBLIETTE_URL.\n`,
    );
  }
});

test('a token is made, listed, used, rotated and revoked', async () => {
  const made = (
    await cli(['token', 'create', '--name', 'bot', '--scope', 'read', '--bundle', 'demo', '--ttl', '1h', '--json'])
  ).json;
  assert.match(made.token, /^oub_/);
  assert.match(made.id, /^tok_/);
  assert.deepEqual(made.bundles, ['demo']);
  const as = (token: string) =>
    oubliette(['tools', '--json'], { env: { OUBLIETTE_URL: server.url, OUBLIETTE_TOKEN: token } });
  const seen = (await as(made.token)).json.tools.map((tool: { bundleSlug: string }) => tool.bundleSlug);
  assert.deepEqual(new Set(seen), new Set(['demo']));
  const list = await cli(['token', 'list', '--json']);
  assert.ok(!list.out.includes(made.token), 'the list never shows the secret');
  const rotated = (await cli(['token', 'rotate', made.id, '--json'])).json;
  assert.equal((await as(made.token)).code, 1);
  assert.equal((await as(rotated.token)).code, 0);
  assert.equal((await cli(['token', 'revoke', made.id, '--json'])).json.revoked, true);
  const refused = await as(rotated.token);
  assert.equal(refused.code, 1);
  assert.match(refused.err, /not valid, has expired or was revoked/);
});

test('a token for a bundle that is not there is made, with a warning beside the answer', async () => {
  const { code, err, json } = await cli([
    'token',
    'create',
    '--name',
    'x',
    '--scope',
    'read',
    '--bundle',
    'dmo',
    '--json',
  ]);
  assert.deepEqual([code, json.bundles], [0, ['dmo']]);
  assert.match(err, /^warning: There is no bundle dmo now: .* Did you mean demo\? .*\n$/);
});

test('a token for some bundles alone is told why a command cannot work with it', async () => {
  const made = await cli(['token', 'create', '--name', 'narrow', '--scope', 'admin', '--bundle', 'demo', '--json']);
  const env = { OUBLIETTE_HOME: server.home, OUBLIETTE_TOKEN: made.json.token };
  const { code, err } = await oubliette(['project', 'list'], { env });
  assert.equal(code, 1);
  assert.match(err, /^error: This command needs project_list, which this token does not reach: .* OUBLIETTE_TOKEN/);
  const called = await oubliette(['call', 'project_list'], { env });
  assert.match(called.err, /^error: There is no tool project_list\./);
});

test('a bundle and a tool are made, called, switched off and deleted', async () => {
  const bundle = (await cli(['bundle', 'create', 'first', '--name', 'First steps', '--json'])).json;
  assert.equal(bundle.slug, 'first');
  assert.equal((await cli(['bundle', 'create', 'first'])).code, 1);
  const tool = await cli(['tool', 'create', 'first', 'shade', 'v1', '-', '--json'], JSON.stringify(shade));
  assert.equal(tool.code, 0, tool.err);
  assert.equal(tool.json.name, 'first_shade');
  assert.equal((await cli(['tool', 'show', 'first', 'shade', 'v1', '--json'])).json.id, tool.json.id);
  const direct = (await cli(['call', 'demo_foo', '{"text":"x"}'])).out;
  assert.equal((await cli(['call', 'first_shade', '{"text":"x"}'])).out, direct);
  assert.equal((await cli(['tool', 'disable', 'first', 'shade', 'v1'])).out, 'first_shade v1 is off.\n');
  const off = await cli(['call', 'first_shade', '{"text":"x"}']);
  assert.equal(off.code, 1);
  assert.match(off.err, /disabled/);
  assert.equal((await cli(['tool', 'enable', bundle.id, 'shade', 'v1'])).code, 0);
  assert.match((await cli(['bundle', 'delete', 'first'])).err, /still holds 1 tool\./);
  assert.equal((await cli(['tool', 'delete', 'first', 'shade', 'v1'])).code, 0);
  assert.equal((await cli(['bundle', 'delete', 'first'])).code, 0);
  assert.equal((await cli(['bundle', 'delete', 'first'])).code, 1);
});

test('a pack file is written once', async () => {
  const made = await cli(['pack', 'new', 'greeter', '--json']);
  assert.equal(made.json.tool, 'greeter_greet');
  assert.match(await readFile(made.json.file, 'utf8'), /greet\.tool = \{/);
  assert.equal((await stat(made.json.file)).mode & 0o777, 0o600);
  assert.equal((await cli(['pack', 'new', 'greeter'])).code, 1);
  for (const name of ['../evil', 'A', 'a/b', '']) assert.equal((await cli(['pack', 'new', name])).code, 2, name);
});

test('doctor says how the machine and the server are', async () => {
  const { checks } = (await cli(['doctor', '--json'])).json as {
    checks: { name: string; status: string; text: string }[];
  };
  const status = Object.fromEntries(checks.map((check) => [check.name, check.status]));
  assert.equal(status['node'], 'ok');
  assert.equal(status['state'], 'ok');
  assert.equal(status['config'], 'ok');
  assert.match(checks.find((check) => check.name === 'server')!.text, /^ready at http/);
  assert.deepEqual(
    checks.filter((check) => check.name === 'home').map((check) => check.status),
    ['ok'],
  );
});

test('doctor also tells what only the running server knows, such as a pack file that is broken', async () => {
  const looked = async (): Promise<string[]> => {
    const { checks } = (await cli(['doctor', '--json'])).json as { checks: { name: string; text: string }[] };
    return checks.map(({ name, text }) => `${name} ${text}`);
  };
  assert.ok((await looked()).some((line) => /^catalog \d+ bundles/.test(line)));
  const file = join(server.home, 'packs', 'broken.ts');
  await writeFile(file, 'export const x: = 5\n', { mode: 0o600 });
  try {
    // Each look starts a program, and takes long enough by itself.
    await until(async () => (await looked()).some((line) => line.startsWith('packs broken.ts:1: ')), 400);
    const narrow = (await cli(['token', 'create', '--name', 'narrow', '--scope', 'read', '--json'])).json
      .token as string;
    const env = { OUBLIETTE_HOME: server.home, OUBLIETTE_TOKEN: narrow };
    const seen = (await oubliette(['doctor', '--json'], { env })).json as { checks: { name: string }[] };
    assert.ok(seen.checks.some(({ name }) => name === 'server'));
    assert.ok(!seen.checks.some(({ name }) => name === 'packs'));
  } finally {
    await rm(file);
  }
});

test('doctor names a mistake in config.yaml once', async () => {
  const home = await mkdtemp(join(tmpdir(), 'oub-doctor-'));
  await writeFile(join(home, 'config.yaml'), 'output: { maxBytes: 5 }\n', { mode: 0o600 });
  const { checks } = (await oubliette(['doctor', '--json'], { env: { OUBLIETTE_HOME: home } })).json as {
    checks: { name: string; text: string }[];
  };
  const named = checks.filter(({ text }) => text.includes('output.maxBytes')).map(({ name }) => name);
  assert.deepEqual(named, ['config']);
  await rm(home, { recursive: true });
});

test('doctor has a finding, not a failure, where there is no place for temporary files', async () => {
  const env = { OUBLIETTE_HOME: server.home, TMPDIR: join(server.home, 'missing') };
  const { checks } = (await oubliette(['doctor', '--json'], { env })).json as {
    checks: { name: string; status: string; text: string; advice?: string }[];
  };
  const found = checks.find((check) => check.name === 'sandbox');
  assert.equal(found?.status, 'fail');
  assert.match(found.text, /no place for temporary files: .*missing/);
  assert.match(found.advice ?? '', /Set TMPDIR/);
  assert.equal(checks.find((check) => check.name === 'state')?.status, 'ok');
});

test('terminal tricks in stored texts are not passed on', async () => {
  await cli(['bundle', 'create', 'tricky']);
  const body = { ...shade, description: 'safe\u001b[2J\u001b]0;evil\u0007 text\u202e' };
  assert.equal((await cli(['tool', 'create', 'tricky', 'shade', 'v1', '-'], JSON.stringify(body))).code, 0);
  await server.fetch('/call/token_create', { method: 'POST', json: { args: { name: 'a\u001b[2Jb', scope: 'read' } } });
  assert.match((await cli(['token', 'list'])).out, /a\[2Jb/);
  const odd = { name: 'two\nlines', scope: 'read', bundles: ['c\u001b[2Jd\ne'] };
  await server.fetch('/call/token_create', { method: 'POST', json: { args: odd } });
  assert.match((await cli(['token', 'list'])).out, /two lines +read +c\[2Jd e /);
  await server.fetch('/call/project_create', { method: 'POST', json: { args: { name: 'ab\u202ecd ef' } } });
  const projects = await cli(['project', 'list']);
  assert.match(projects.out, /abcd ef/);
  const { out } = await cli(['tools', '--bundle', 'tricky']);
  assert.match(out, /safe/);
  assert.doesNotMatch(out, /[\u001b\u0007\u202e]/);
});

test('a full disk is called that, and nothing half is left on it', async () => {
  const { spawnSync } = await import('node:child_process');
  const disk = join(scratch, 'disk');
  await mkdir(disk);
  const oubliette = `${process.execPath} --disable-warning=ExperimentalWarning ${cliFile}`;
  const script = `
    ${process.execPath} -e 'const d = new (require("node:sqlite").DatabaseSync)("${disk}/state.db");
      d.exec("CREATE TABLE t (x); INSERT INTO t VALUES (zeroblob(100000))")'
    cat /dev/zero > ${disk}/fill 2>/dev/null
    ${oubliette} pack new half --home ${disk}
    ${oubliette} backup ${scratch}/full.tgz --home ${disk}
    ls ${disk}/packs`;
  const bwrap = ['--dev-bind', '/', '/', '--size', '300000', '--tmpfs', disk, '--', 'sh', '-c', script];
  const ran = spawnSync('bwrap', bwrap, { encoding: 'utf8', cwd: join(import.meta.dirname, '..', '..') });
  assert.match(ran.stderr, /half\.ts cannot be written \(ENOSPC\)\nerror: No more space: the disk /);
  assert.equal(ran.stdout, '');
});

test('a reader that goes away early is no failure', async () => {
  const { spawnSync } = await import('node:child_process');
  const line = `${process.execPath} ${cliFile} tools --json --home ${server.home} | head -c 10`;
  const ran = spawnSync('bash', ['-c', `set -o pipefail; ${line}`], {
    encoding: 'utf8',
    cwd: join(import.meta.dirname, '..', '..'),
  });
  assert.equal(ran.status, 0, ran.stderr);
});
