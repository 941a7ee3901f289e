import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { cleanEnv, root, startTestServer } from './kit/running-server.ts';

const run = promisify(execFile);
let clone: string;
let builds: string;

before(async () => {
  clone = await mkdtemp(join(tmpdir(), 'oub-clone-'));
  builds = join(clone, '.cache', 'built');
  for (const name of ['src', 'scripts', 'bin', 'package.json', 'package-lock.json'])
    cpSync(join(root, name), join(clone, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'));
});
after(() => rm(clone, { recursive: true, force: true }));

const cli = async (...args: string[]): Promise<string> =>
  (await run(process.execPath, [join(clone, 'bin', 'oubliette.js'), ...args], { env: cleanEnv() })).stdout;

test('a short command in a clone that was never built runs the sources themselves', async () => {
  assert.match(await cli('--help'), /^Usage: oubliette/);
  assert.ok(!existsSync(builds));
});

test('a server in a clone is built once, and the bundle finds all that it needs', async () => {
  assert.match(await cli('serve', '--help'), /until Ctrl-C/);
  const [only, ...others] = readdirSync(builds);
  assert.deepEqual(others, []);
  const server = await startTestServer({ program: join(builds, only!, 'cli.js') });
  try {
    const answer = await server.fetch('/call/demo_foo', { method: 'POST', json: { args: { text: 'hi' } } });
    assert.equal(answer.status, 200);
  } finally {
    assert.equal(await server.stop(), 0);
  }
  await cli('serve', '--help');
  assert.deepEqual(readdirSync(builds), [only]);
});

test('an edited source is never served from an older build, whatever the time of the file says', async () => {
  const file = join(clone, 'src', 'doors', 'cli', 'commands', 'serve.ts');
  const before = readFileSync(file, 'utf8');
  writeFileSync(file, before.replace('until Ctrl-C', 'until the end'));
  utimesSync(file, 0, 0);
  assert.match(await cli('serve', '--help'), /until the end/);
  writeFileSync(file, before);
  assert.match(await cli('serve', '--help'), /until Ctrl-C/);
  assert.equal(readdirSync(builds).length, 2);
});

test('two starts at once agree on one build and leave nothing half made', async () => {
  await rm(builds, { recursive: true });
  const both = await Promise.all([cli('serve', '--help'), cli('serve', '--help')]);
  for (const each of both) assert.match(each, /until Ctrl-C/);
  assert.equal(readdirSync(builds).length, 1);
  appendFileSync(join(clone, 'src', 'cli.ts'), '\n// once more\n');
  await cli('serve', '--help');
});

test('old builds are removed when a new one is made, except those of servers that still run', async () => {
  const [used, unused] = readdirSync(builds);
  writeFileSync(join(builds, used!, `used-by-${process.pid}`), '');
  for (const each of [used!, unused!]) utimesSync(join(builds, each), 0, 0);
  appendFileSync(join(clone, 'src', 'cli.ts'), '\n// changed\n');
  await cli('serve', '--help');
  const left = readdirSync(builds);
  assert.ok(left.includes(used!));
  assert.ok(!left.includes(unused!));
});

test('sources that cannot be bundled run as they are, and say what is wrong', async () => {
  appendFileSync(join(clone, 'src', 'cli.ts'), '\nexport const broken: = 1;\n');
  await assert.rejects(cli('serve', '--help'), /cli\.ts/);
});
