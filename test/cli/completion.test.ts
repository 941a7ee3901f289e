import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { after, before, test } from 'node:test';
import { isDeepStrictEqual, promisify } from 'node:util';
import { runCli } from '../../src/doors/cli/index.ts';
import { cliFile } from '../kit/programs.ts';
import { cleanEnv, startTestServer, type TestServer } from '../kit/running-server.ts';

const run = promisify(execFile);
let server: TestServer;
let scratch: string;
before(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'oub-completion-'));
  await mkdir(join(scratch, 'bin'));
  const program = `#!/bin/sh\nexec "${process.execPath}" "${cliFile}" "$@"\n`;
  await writeFile(join(scratch, 'bin', 'oubliette'), program, { mode: 0o755 });
  server = await startTestServer();
});
after(async () => {
  await server.stop();
  await rm(scratch, { recursive: true, force: true });
});

/** What a real bash would put in, for each command line; `<files>` where it would look for files itself. */
async function tab(lines: string[][], home = server.home): Promise<string[]> {
  const asked = lines.map((words) => `tab ${words.map((word) => `'${word}'`).join(' ')}`);
  const script = `eval "$(oubliette completion bash)"
    tab() {
      COMP_WORDS=(oubliette "$@") COMP_CWORD=$# COMPREPLY=() files=yes
      _oubliette
      [ $files = yes ] && echo '<files>' || echo "\${COMPREPLY[*]}"
    }
    compopt() { [ "$*" = '+o default' ] && files=no; }
    ${asked.join('\n')}
    complete -p oubliette`;
  const env = cleanEnv({ OUBLIETTE_HOME: home, PATH: `${join(scratch, 'bin')}${delimiter}${process.env['PATH']}` });
  const { stdout, stderr } = await run('bash', ['-c', script], { env, cwd: scratch });
  assert.equal(stderr, '');
  const printed = stdout.trimEnd().split('\n');
  assert.equal(printed.pop(), 'complete -o default -F _oubliette oubliette');
  return printed;
}

/** What the program says in this process. */
async function said(argv: string[], env: NodeJS.ProcessEnv = {}): Promise<{ code: number; out: string }> {
  let out = '';
  const stream = () => new PassThrough().on('data', (chunk: Buffer) => (out += chunk.toString()));
  const output = stream() as unknown as NodeJS.WriteStream;
  const input = new PassThrough().end() as unknown as NodeJS.ReadStream;
  const programs = { version: '0', serve: () => Promise.reject(new Error('not here')) };
  const code = await runCli(['completion', ...argv], programs, { input, output, errors: output }, env);
  return { code, out };
}

/** The words that may come next. */
async function next(...written: string[]): Promise<string[]> {
  const { code, out } = await said(['bash', '--home', server.home, '--', ...written]);
  return code === 0 ? out.split('\n').filter(Boolean).sort() : ['<files>'];
}

/** A server on a busy machine may answer too late: Tab is then pressed again. */
async function sees(press: () => Promise<string[]>, expected: string[]): Promise<void> {
  let seen: string[] = [];
  for (let times = 0; times < 5; times++) {
    seen = await press();
    if (isDeepStrictEqual(seen, expected)) return;
  }
  assert.deepEqual(seen, expected);
}

test('commands, options, choices and the names that the server knows are completed', async () => {
  const cases: [string[], string][] = [
    [['sess'], 'session'],
    [['session', 'sp'], 'spawn'],
    [['tools', '--b'], '--bundle'],
    [['token', 'create', '--scope', ''], 'admin read write'],
    [['token', 'create', '--scope', '=', 'w'], 'write'],
    [['token', 'create', '--name', 'session', '--sc'], '--scope'],
    [['setup', 'cu'], 'cursor'],
    [['call', 'dem'], 'demo_bar demo_foo'],
    [['audit', 'list', '--limit', '5', '--tool', 'demo_f'], 'demo_foo'],
    [['tool', 'show', 'demo', 'f'], 'foo'],
    [['tool', 'show', 'demo', 'foo', ''], 'v1'],
    [['export', 'demo', 'cal'], 'calc caller'],
    [['chat', 'alpha', '--agent', ''], 'embedded'],
    [['call', 'demo_foo', ''], '<files>'],
    [['backup', 'let'], '<files>'],
    [['export', '--out', ''], '<files>'],
    [['project', 'exec', 'alpha', '--', '--he'], ''],
    [['client', '--socket', ''], '<files>'],
    [['config', 'show', ''], ''],
    [['run', ''], ''],
    [['frobnicate', ''], ''],
    [['--home', '/does/not/exist', 'call', 'demo_'], ''],
  ];
  for (const [words, expected] of cases) await sees(() => next(...words), expected.split(' ').filter(Boolean));
});

test('a real bash puts them in, quoted, and is left alone with files', async () => {
  for (const name of ['alpha', 'two words; $(touch here)'])
    assert.equal(
      (await server.fetch('/call/project_create', { method: 'POST', json: { args: { name } } })).status,
      200,
    );
  await sees(
    () =>
      tab([
        ['call', 'demo_'],
        ['chat', 'two'],
        ['backup', 'let'],
      ]),
    ['demo_bar demo_foo', 'two\\ words\\;\\ \\$\\(touch\\ here\\)', '<files>'],
  );
});

test('without a server names are left out, in silence, and the rest is completed', async () => {
  const home = join(scratch, 'nothing-here');
  assert.deepEqual(await tab([['call', 'demo_'], ['chat', ''], ['doct']], home), ['', '', 'doctor']);
});

test('a server that does not answer is waited for only a moment', async (t) => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  t.after(() => silent.closeAllConnections());
  t.after(() => silent.close());
  const env = { OUBLIETTE_URL: `http://127.0.0.1:${(silent.address() as AddressInfo).port}`, OUBLIETTE_TOKEN: 'oub_x' };
  assert.deepEqual(await said(['bash', '--', 'call', 'd'], env), { code: 0, out: '' });
});

test('zsh and fish are told what a word means, each in its way', async () => {
  const ask = async (...argv: string[]) => (await said([...argv, '--', 'config'])).out;
  const about = 'config.yaml: what holds now, and one change at a time';
  assert.equal(await ask('zsh'), `config:${about}\n`);
  assert.equal(await ask('fish'), `config\t${about}\n`);
  assert.equal(await ask('bash'), 'config\n');
  assert.deepEqual(JSON.parse(await ask('zsh', '--json')), { words: [{ word: 'config', about }] });
  assert.match((await said(['zsh'])).out, /^#compdef oubliette\n/);
  assert.match((await said(['fish'])).out, /\ncomplete -c oubliette /);
  assert.equal((await said(['tcsh'])).code, 2);
});
