import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import type { Programs } from './define.ts';
import { runCli } from './run-cli.ts';

const programs: Programs = { version: '1.2.3', serve: () => Promise.reject(new Error('not here')) };

async function run(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  let out = '';
  let err = '';
  const stream = (take: (text: string) => void) =>
    new PassThrough().on('data', (chunk: Buffer) => take(chunk.toString())) as unknown as NodeJS.WriteStream;
  const terminal = {
    input: new PassThrough().end() as unknown as NodeJS.ReadStream,
    output: stream((text) => (out += text)),
    errors: stream((text) => (err += text)),
  };
  const code = await runCli(args, programs, terminal, { OUBLIETTE_HOME: '/does/not/exist' });
  return { code, out, err };
}

/** Every command that does something, found by walking the help texts. */
async function commands(path: string[] = []): Promise<string[]> {
  const help = await run(...path, '--help');
  assert.equal(help.code, 0, path.join(' '));
  const listed = /\nCommands:\n([^]*?)(\n\n|$)/.exec(help.out)?.[1] ?? '';
  const names = [...listed.matchAll(/^ {2}([a-z]\w*)/gm)].map((match) => match[1]!).filter((name) => name !== 'help');
  const below = (await Promise.all(names.map((name) => commands([...path, name])))).flat();
  const isLeaf = path.length > 0 && /--json/.test(help.out);
  return isLeaf ? [path.join(' '), ...below] : below;
}

test('every promised command is there, with --help and --json', async () => {
  const promised =
    'serve, mcp, run, call, tools, login, client, doctor, export, import, import openapi, import curl, import clients, setup, backup, restore, completion, chat, audit verify, audit list, pack new, ' +
    'token create, token list, token revoke, token rotate, secret set, secret list, secret remove, ' +
    'server add, server list, server remove, project create, project list, project delete, ' +
    'session spawn, session message, session follow, session end';
  const found = new Set(await commands());
  assert.deepEqual(
    promised.split(', ').filter((name) => !found.has(name)),
    [],
  );
  for (const name of ['', 'token', 'project'])
    assert.match((await run(...name.split(' ').filter(Boolean), '--help')).out, /\nExamples:\n {2}oubliette /, name);
  for (const name of found) {
    const { out } = await run(...name.split(' '), '--help');
    assert.match(out, /--json/, name);
    assert.match(out, new RegExp(`\\nExamples:\\n[^]*oubliette ${name}`), name);
  }
});

test('help behind a command that does not exist is bad usage; options without a command are those of serve', async () => {
  const { code, out, err } = await run('nope', '--help');
  assert.deepEqual([code, out], [2, '']);
  assert.match(err, /unknown command 'nope'/);
  assert.match((await run('--port', 'high')).err, /high/);
});

test('the version and the help are no failures, a missing subcommand is bad usage', async () => {
  assert.deepEqual(await run('--version'), { code: 0, out: '1.2.3\n', err: '' });
  assert.equal((await run('--help')).code, 0);
  assert.equal((await run('token')).code, 2);
});

test('without a command it serves', async () => {
  const ran = await run();
  assert.equal(ran.code, 1);
  assert.match(ran.err, /not here/);
});

test('with --json bad usage is one line of JSON as well, but not where --json belongs to another program', async () => {
  for (const [args, message] of [
    [['tols', '--json'], /unknown command 'tols' \(Did you mean tools\?\)/],
    [['call', '--json'], /missing required argument 'tool'/],
    [['token', 'create', '--name', 'x', '--json'], /--scope/],
    [['tools', '--bogus', '--json'], /unknown option '--bogus'/],
    [['--json', 'nowhere'], /unknown command 'nowhere'/],
    [['token', '--json'], /^token needs one of its commands: create, list, revoke, rotate$/],
    [['--json', 'token', 'bogus'], /unknown command 'bogus'/],
    [['token', '--json', '--bogus'], /unknown option '--bogus'/],
  ] as const) {
    const { code, out, err } = await run(...args);
    assert.deepEqual([code, out], [2, ''], args.join(' '));
    const { error } = JSON.parse(err) as { error: { code: string; message: string; details: unknown[] } };
    assert.deepEqual([error.code, error.details], ['request.invalid', []]);
    assert.match(error.message, message);
  }
  assert.match((await run('projcet', '--', '--json')).err, /^error: unknown command/);
});

test('options that every command has may stand before it, or before the last word of its name', async () => {
  for (const args of [
    ['--home', '/elsewhere', 'token', 'list'],
    ['--home=/elsewhere', '--json', 'tools', 'x'],
    ['token', '--json', '--home', '/elsewhere', 'list'],
    ['--json', '--home', '/elsewhere', 'project', 'exec', 'demo', '--', 'ls', '--home', '/inside'],
  ])
    assert.match((await run(...args)).err, /No server is running on \/elsewhere/, args.join(' '));
  assert.match((await run('--json', '--home', '/elsewhere', '--port', 'high')).err, /high is no port/);
});

test('a secret that is typed at a terminal is not shown there', async () => {
  const raw: boolean[] = [];
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (on: boolean) => void raw.push(on) });
  let seen = '';
  const stream = () => new PassThrough().on('data', (chunk: Buffer) => (seen += chunk.toString()));
  const output = stream() as unknown as NodeJS.WriteStream;
  input.write('opensesame\r\u0004');
  const terminal = { input: input as unknown as NodeJS.ReadStream, output, errors: output };
  const code = await runCli(['secret', 'set', 'DOOR'], programs, terminal, { OUBLIETTE_HOME: '/does/not/exist' });
  assert.equal(code, 1);
  assert.match(seen, /not shown[^]*No server is running/);
  assert.doesNotMatch(seen, /sesame/);
  assert.deepEqual(raw, [true, false], 'the terminal shows nothing by itself, and does so again afterwards');
});
