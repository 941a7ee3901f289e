import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { after, before, test } from 'node:test';
import type { Programs } from '../../src/doors/cli/define.ts';
import type { Terminal } from '../../src/doors/cli/output.ts';
import { runCli } from '../../src/doors/cli/run-cli.ts';
import { cliFile } from '../kit/programs.ts';
import { cleanEnv, oubliette, root, startTestServer, type TestServer } from '../kit/running-server.ts';
import { until } from '../kit/until.ts';

const programs: Programs = { version: '0', serve: () => Promise.reject(new Error('not here')) };

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());
const cli = (args: string[], input?: string) => oubliette(args, { env: { OUBLIETTE_HOME: server.home }, input });

test('secrets go in by standard input and never come out', async () => {
  const canary = 'canary-7f3a9c1e55';
  assert.equal((await cli(['secret', 'set', 'CANARY', '--host', 'api.example.com'], `${canary}\n`)).code, 0);
  const list = await cli(['secret', 'list', '--json']);
  assert.deepEqual(
    list.json.secrets.map((each: { name: string }) => each.name),
    ['CANARY'],
  );
  assert.ok(!list.out.includes(canary));
  const hostsAfter = async (...options: string[]) =>
    (await cli(['secret', 'set', 'CANARY', '--json', ...options], `${canary}\n`)).json.hosts;
  assert.deepEqual(await hostsAfter(), ['api.example.com']);
  assert.deepEqual(await hostsAfter('--any-host'), []);
  assert.equal((await cli(['secret', 'set', 'CANARY', '--any-host', '--host', 'a.example.com'], canary)).code, 2);
  assert.equal((await cli(['secret', 'set', 'EMPTY'], '')).code, 2);
  assert.equal((await cli(['secret', 'set', 'SHORT'], 'abc')).code, 1);
  assert.equal((await cli(['secret', 'remove', 'CANARY'])).code, 0);
  assert.equal((await cli(['secret', 'remove', 'CANARY'])).code, 1);
});

test('an upstream server is added, listed and removed', async () => {
  const added = await cli(['server', 'add', 'sleeper', '--env', 'A=b', '--timeout', '5000', '--', 'sleep', '3600']);
  assert.equal(added.code, 0, added.err);
  assert.match(added.out, /^Added sleeper\./);
  const again = ['server', 'add', 'sleeper', '--timeout', '6000', '--', 'sleep', '3601'];
  assert.match((await cli(again)).out, /^Replaced sleeper, which was there before\./);
  assert.equal((await cli([...again.slice(0, 3), '--json', ...again.slice(3)])).json.replaced, true);
  const { servers } = (await cli(['server', 'list', '--json'])).json as { servers: { name: string }[] };
  assert.deepEqual(
    servers.map((each) => each.name),
    ['sleeper'],
  );
  assert.equal((await cli(['server', 'remove', 'sleeper'])).code, 0);
  assert.equal((await cli(['server', 'remove', 'sleeper'])).code, 1);
  for (const wrong of [
    ['server', 'add', 'x'],
    ['server', 'add', 'x', '--url', 'http://a', '--', 'b'],
    ['server', 'add', 'x', '--env', 'nope', '--', 'b'],
    ['server', 'add', 'x', '--timeout', '1e99', '--', 'b'],
    ['server', 'add', 'x', '--header', 'A: b', '--', 'b'],
    ['server', 'add', 'x', '--url', 'http://a', '--env', 'A=b'],
  ])
    assert.equal((await cli(wrong)).code, 2, wrong.join(' '));
});

test('a program runs, prints its text, and its failure is a failure', async () => {
  assert.equal((await cli(['run', 'print("one")\n"two"'])).out, 'one\ntwo\n');
  assert.equal((await cli(['run', '-'], '1 + 1')).out, '2\n');
  const failed = await cli(['run', '1/0', '--json']);
  assert.equal(failed.code, 1);
  assert.equal(failed.json.error.code, 'program.failed');
});

test('the audit is unbroken', async () => {
  const verified = (await cli(['audit', 'verify', '--json'])).json;
  assert.equal(verified.ok, true);
  assert.ok(verified.rows > 0);
  const listed = await cli(['audit', 'list', '--limit', '2', '--tool', 'audit_verify']);
  assert.match(
    listed.out,
    /^AT +TOOL +LEVEL +DOOR +TOKEN +MS +OUTCOME\n[-\d]{10} [:\d]{8} +audit_verify +admin +cli +tok_\w+ +[\d.]+ +ok\n/,
  );
  assert.equal((await cli(['audit', 'list', '--limit', 'x'])).code, 2);
  const pruned = await cli(['audit', 'prune', '--older-than-days', '1', '--json']);
  assert.deepEqual(pruned.json, { deleted: 0 }, 'nothing here is older than a day');
  assert.equal((await cli(['audit', 'prune'])).code, 2);
});

test('login gives a link that signs in once', async () => {
  const { signInUrl } = (await cli(['login', '--json'])).json as { signInUrl: string };
  const code = signInUrl.split('#code=')[1];
  const signIn = () =>
    fetch(`${server.url}/auth/signin`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ code }),
    });
  assert.equal((await signIn()).status, 200);
  assert.equal((await signIn()).status, 401);
});

test('a project, a session, and what it says', async () => {
  const project = (await cli(['project', 'create', 'work', '--description', 'for tests', '--json'])).json;
  assert.match(project.id, /^proj_/);
  assert.equal((await cli(['project', 'create', 'work'])).code, 1);
  assert.equal((await cli(['project', 'show', 'work', '--json'])).json.id, project.id);

  const spawned = await cli(['session', 'spawn', 'work', '"hello " + "there"', '--follow']);
  assert.equal(spawned.code, 0, spawned.err);
  assert.match(spawned.out, /hello there/);

  const quiet = (await cli(['session', 'spawn', 'work', '6 * 7', '--json'])).json;
  const followed = await cli(['session', 'follow', quiet.session_id, '--turn', '--json']);
  const events = followed.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { index: number; type: string; text?: string });
  assert.deepEqual(
    events.map((event) => event.index),
    events.map((_, index) => index),
    'from 0 without a gap',
  );
  assert.equal(events.at(-1)!.type, 'completion');
  assert.equal(events.at(-1)!.text, '42');

  const again = await cli(['session', 'message', quiet.session_id, '7 * 7', '--follow']);
  assert.match(again.out, /^49$/m);
  assert.equal((await cli(['session', 'show', quiet.session_id, '--json'])).json.turn, 2);
  assert.equal((await cli(['session', 'end', quiet.session_id, '--json'])).json.status, 'ended');
  assert.equal((await cli(['session', 'end', quiet.session_id])).code, 0);
  assert.equal((await cli(['session', 'message', quiet.session_id, '"back again"', '--follow'])).code, 0);
  assert.equal((await cli(['session', 'end', quiet.session_id])).code, 0);
  const whole = await cli(['session', 'follow', quiet.session_id]);
  assert.match(whole.out, /session ended[^]*back again[^]*session ended/, 'the first end is not the last');
  assert.equal((await cli(['session', 'follow', 'ses_nothere'])).code, 1);
  assert.equal((await cli(['session', 'spawn', 'nowhere', 'x'])).code, 1);
});

test('what is said to come next can be pasted, whatever a project is called', async () => {
  const plain = await cli(['project', 'create', 'plain-1']);
  assert.match(plain.out, / oubliette chat plain-1\n$/);
  const odd = await cli(['project', 'create', "it's; odd"]);
  assert.match(odd.out, /^Made project it's; odd \((proj_\w+)\)\..* oubliette chat \1\n$/);
  for (const name of ['plain-1', "it's; odd"]) assert.equal((await cli(['project', 'delete', name])).code, 0);
});

test('a turn that gave no answer is a failure of the command that waited for it', async () => {
  const gone = JSON.stringify({ driver: 'acp', command: '/does/not/exist', args: [] });
  assert.equal((await cli(['config', 'set', 'agents.gone', gone])).code, 0);
  const ran = await cli(['session', 'spawn', 'work', 'hello', '--agent', 'gone', '--follow']);
  assert.equal(ran.code, 1, ran.out);
  assert.match(ran.out, /could not be started/);
});

test('a command runs in the sandbox of a project and its exit code counts', async () => {
  const ran = await cli(['project', 'exec', 'work', '--', 'sh', '-c', 'echo out; echo err >&2; exit 3']);
  assert.equal(ran.code, 1);
  assert.equal(ran.out, 'out\n');
  assert.match(ran.err, /err/);
  const much = await cli(['project', 'exec', 'work', '--', 'sh', '-c', 'yes | head -c 3000000']);
  assert.match(much.err, /There was more output than is kept/);
});

test('a chat by pipe: every line is a message, answered in order', async () => {
  const talk = await cli(['chat', 'work'], '"first"\n\n"sec" + "ond"\n');
  assert.equal(talk.code, 0, talk.err);
  assert.match(talk.out, /first\n[^]*second\n/);
});

test('what the agent asks its caller is answered in the chat', async () => {
  const child = spawn(process.execPath, [cliFile, 'chat', 'work'], {
    cwd: root,
    env: cleanEnv({ OUBLIETTE_HOME: server.home }),
  });
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (out += chunk));
  const said = async (pattern: RegExp) => {
    while (!pattern.test(out)) await once(child.stdout, 'data');
  };
  child.stdin.write('"ready"\n');
  await said(/ready/);
  const { sessions } = (await cli(['session', 'list', '--project', 'work', '--json'])).json as {
    sessions: { id: string; status: string; updated_at: string }[];
  };
  const current = sessions
    .filter((each) => each.status !== 'ended')
    .sort((a, b) => (a.updated_at < b.updated_at ? 1 : -1))[0]!;
  const declare = {
    session_id: current.id,
    message: '"declared"',
    context: { caller_id: 'me', caller_tools: [{ name: 'ask', description: 'Asks', inputSchema: { type: 'object' } }] },
  };
  assert.equal((await cli(['call', 'session_message', JSON.stringify(declare)])).code, 0);
  child.stdin.write('me_ask()\n');
  await said(/caller tool ask/);
  child.stdin.write('{"colour":"green"}\n');
  await said(/\{"colour":"green"\}/);
  child.stdin.end();
  assert.deepEqual(await once(child, 'exit'), [0, null]);
});

/** Somebody who types at a terminal and reads what it says. */
function person() {
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode() {} });
  const output = Object.assign(new PassThrough(), { isTTY: true, columns: 200, getColorDepth: () => 1 });
  let out = '';
  output.on('data', (chunk: Buffer) => (out += chunk.toString()));
  const terminal = { input, output, errors: output } as unknown as Terminal;
  return { input, terminal, out: () => out, said: (pattern: RegExp) => until(() => pattern.test(out)) };
}

test('Ctrl-C at a question stops the turn at once, and what is typed then is the next message', async () => {
  const declared = {
    project_id: (await cli(['project', 'show', 'work', '--json'])).json.id,
    message: '"declared"',
    context: { caller_id: 'me', caller_tools: [{ name: 'ask', description: 'Asks', inputSchema: { type: 'object' } }] },
  };
  const { session_id } = (await cli(['call', 'session_spawn', JSON.stringify(declared), '--json'])).json.value;
  const { input, terminal, said } = person();
  const talk = runCli(['chat', 'work', '--session', session_id], programs, terminal, { OUBLIETTE_HOME: server.home });
  await said(/> $/);
  input.write('me_ask()\r');
  await said(/Answer for ask/);
  input.write('half an ans');
  await said(/half an ans/);
  input.write('\x03');
  await said(/Answer for ask[^]*> $/);
  input.write('6 * 7\r');
  await said(/^42$/m);
  input.write('\x04');
  assert.equal(await talk, 0);
});

test('Ctrl-C or Ctrl-D instead of an answer is a no', async () => {
  for (const key of ['\x03', '\x04']) {
    const { input, terminal, said, out } = person();
    const env = { OUBLIETTE_HOME: server.home, HOME: join(server.home, 'person') };
    const asked = runCli(['setup', 'cursor'], programs, terminal, env);
    await said(/\[y\/N\]/);
    input.write(key);
    assert.equal(await asked, 0, out());
    assert.match(out(), /\nNothing was changed\.\n$/);
  }
});

test('a project goes when its sessions are over', async () => {
  const { sessions } = (await cli(['session', 'list', '--project', 'work', '--json'])).json as {
    sessions: { id: string; status: string }[];
  };
  for (const { id, status } of sessions)
    if (status !== 'ended') assert.equal((await cli(['session', 'end', id])).code, 0);
  const deleted = await cli(['project', 'delete', 'work', '--json']);
  assert.equal(deleted.json.deleted, true, deleted.err);
  assert.equal((await cli(['project', 'show', 'work'])).code, 1);
});

test('one value of the configuration is shown, changed with comments kept, and reset', async () => {
  const file = join(server.home, 'config.yaml');
  await writeFile(file, '# mine\nversion: 1\nlimits:\n  depth: 2 # shallow\n');
  assert.equal((await cli(['config', 'reload'])).out, 'Reloaded.\n');
  assert.equal((await cli(['config', 'show', 'limits.depth'])).out, '2\n');
  assert.equal((await cli(['config', 'set', 'limits.depth', '1'])).out, 'limits.depth is now 1.\n');
  assert.match(await readFile(file, 'utf8'), /^# mine\n[^]*depth: 1 # shallow/);
  assert.equal((await cli(['config', 'set', 'limits.depth', 'deep'])).code, 1);
  assert.equal((await cli(['config', 'unset', 'limits.depth', '--json'])).json.value, 3);
  const mine = { driver: 'acp', command: '/opt/mine', args: [] };
  const set = await cli(['config', 'set', 'agents.mine', JSON.stringify(mine)]);
  assert.equal(set.out, `agents.mine is now ${JSON.stringify(mine)}.\n`);
  assert.deepEqual((await cli(['config', 'show', 'agents', '--json'])).json, { default: 'embedded', mine });
  assert.equal((await cli(['config', 'show', 'no.such'])).code, 2);
  await writeFile(file, 'version: [');
  const broken = await cli(['config', 'reload']);
  assert.equal(broken.code, 1);
  assert.match(broken.err, /config\.yaml:\d+/);
});

test('stats count the calls that were made', async () => {
  await cli(['call', 'demo_bar', '{"text":"counted"}']);
  const { total_calls, groups } = (await cli(['stats', 'demo_bar', '--period', 'day', '--json'])).json;
  assert.equal(total_calls, 1);
  assert.equal(groups.length, 1);
  assert.match(
    (await cli(['stats'])).out,
    /^\d+ calls, [\d.]+ % succeeded, [\d.]+ ms on average\.\nTOOL +CALLS +FAILED +AVERAGE MS +BYTES ANSWERED\n/,
  );
});
