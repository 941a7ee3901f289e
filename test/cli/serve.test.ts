import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { spawn } from 'node:child_process';
import { homeFolder } from '../../src/doors/cli/find-server.ts';
import { cliFile } from '../kit/programs.ts';
import { cleanEnv, oubliette, root, serveForPeople, startTestServer } from '../kit/running-server.ts';
import { until } from '../kit/until.ts';

const scratch = await mkdtemp(join(tmpdir(), 'oub-serve-'));
after(() => rm(scratch, { recursive: true, force: true }));

test('a first start makes the home, says where everything is, and a stop leaves nothing behind', async () => {
  const home = join(scratch, 'first');
  const server = await startTestServer({ home });
  const info = JSON.parse(await readFile(join(home, 'server.json'), 'utf8'));
  assert.deepEqual(Object.keys(info).sort(), ['mcpUrl', 'pid', 'port', 'startedAt', 'url', 'version']);
  assert.equal(info.pid, server.pid);
  assert.equal(info.url, server.url);
  assert.equal((await stat(home)).mode & 0o777, 0o700);
  for (const name of ['admin.token', 'state.db', 'run/catalog.lock'])
    assert.equal((await stat(join(home, name))).mode & 0o777, 0o600, name);
  assert.match(server.token, /^oub_/);
  assert.deepEqual(await (await fetch(`${server.url}/health`)).json(), { status: 'ok' });
  assert.equal(await server.stop(), 0);
  await assert.rejects(stat(join(home, 'server.json')), { code: 'ENOENT' });
  await assert.rejects(fetch(`${server.url}/health`));
});

test('of several servers on one home the last is named, and one that still runs when it has ended', async () => {
  const home = join(scratch, 'several');
  const named = async (): Promise<string> => {
    const text = await readFile(join(home, 'server.json'), 'utf8').catch(() => '{}');
    return JSON.parse(text).url ?? 'none';
  };
  const first = await startTestServer({ home });
  const second = await startTestServer({ home });
  assert.equal(await named(), second.url);
  assert.equal(await second.stop(), 0);
  await until(async () => (await named()) === first.url);
  const third = await startTestServer({ home });
  assert.equal(await first.stop(), 0);
  assert.equal(await named(), third.url);
  assert.equal((await oubliette(['call', 'demo_foo', '{"text":"x"}', '--home', home])).code, 0);
  assert.equal(await third.stop(), 0);
  assert.equal(await named(), 'none');
});

test("what fails behind everyone's back is in the log, and the server serves on", async () => {
  const home = join(scratch, 'background');
  const log = (): Promise<string> => readFile(join(home, 'logs', 'server.log'), 'utf8').catch(() => '');
  const failsLater = "process.on('SIGUSR2', () => void Promise.reject(new Error('the fuse is blown')))";
  const server = await startTestServer({ home, nodeFlags: ['--import', `data:text/javascript,${failsLater}`] });
  process.kill(server.pid, 'SIGUSR2');
  await until(async () => (await log()).includes('the fuse is blown'));
  assert.deepEqual(await (await fetch(`${server.url}/health`)).json(), { status: 'ok' });
  assert.equal(await server.stop(), 0);
});

test('the log says when a server was ready and when it was stopped', async () => {
  const home = join(scratch, 'log');
  const server = await startTestServer({ home });
  await server.stop();
  const lines = (await readFile(join(home, 'logs', 'server.log'), 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    lines.filter(({ span }) => span.startsWith('server.')).map(({ span, status, url }) => [span, status, url]),
    [
      ['server.start', 'ok', server.url],
      ['server.stop', 'ok', server.url],
    ],
  );
});

test('people read the addresses, and Ctrl-C stops it', async () => {
  const home = join(scratch, 'people');
  const { child, printed } = await serveForPeople(home);
  assert.match(printed, /Web app\s+http:\/\/127\.0\.0\.1:\d+\/app/);
  assert.match(printed, /MCP\s+http:\/\/127\.0\.0\.1:\d+\/mcp\/run/);
  assert.ok(printed.includes(`Admin token  ${join(home, 'admin.token')}`));
  child.kill('SIGINT');
  child.kill('SIGINT');
  assert.deepEqual(await once(child, 'exit'), [0, null]);
});

test('a server whose output nobody reads any more serves on, and ends cleanly', async () => {
  for (const unread of ['stdout', 'stderr'] as const) {
    const home = join(scratch, `no-${unread}`);
    const child = spawn(process.execPath, [cliFile, 'serve', '--port', '0', '--home', home], {
      cwd: root,
      env: cleanEnv(),
    });
    child[unread].destroy();
    for (const each of [child.stdout, child.stderr]) each.resume();
    const exited = once(child, 'exit');
    await until(async () => child.exitCode !== null || (await readFile(join(home, 'server.json')).catch(() => false)));
    // What it says to the one that does not read comes after that.
    child.kill('SIGTERM');
    assert.deepEqual(await exited, [0, null], unread);
    assert.match(await readFile(join(home, 'logs', 'server.log'), 'utf8'), /"span":"server\.stop"/, unread);
  }
});

test('the environment sets what flags do not', async () => {
  const home = join(scratch, 'env');
  const server = await startTestServer({
    home,
    env: { OUBLIETTE_HOME: '/does/not/exist', OUBLIETTE_PORT: '1', OUBLIETTE_LOG: 'debug' },
  });
  assert.equal(await server.stop(), 0);
  const wrong: Record<string, string>[] = [
    { OUBLIETTE_PORT: 'high' },
    { OUBLIETTE_PORT: '70000' },
    { OUBLIETTE_LOG: 'loud' },
    { OUBLIETTE_STORE: 'postgres://x' },
  ];
  for (const env of wrong) {
    const ran = await oubliette(['serve', '--home', home], { env });
    assert.equal(ran.code, 2, JSON.stringify(env));
  }
});

test('a variable that is set to nothing is as good as none', async () => {
  assert.equal(homeFolder(undefined, { OUBLIETTE_HOME: '' }), join(homedir(), '.oubliette'));
  const home = join(scratch, 'empty-env');
  const server = await startTestServer({ home, env: { OUBLIETTE_HOST: '', OUBLIETTE_LOG: '', OUBLIETTE_STORE: '' } });
  assert.match(server.url, /^http:\/\/127\.0\.0\.1:/);
  assert.equal(await server.stop(), 0);
});

test('a taken port is a clear failure', async () => {
  const server = await startTestServer();
  const ran = await oubliette(['serve', '--home', join(scratch, 'taken'), '--port', new URL(server.url).port]);
  assert.equal(ran.code, 1);
  assert.match(ran.err, /127\.0\.0\.1:\d+ is in use, .*Take another port: --port 0/);
  const elsewhere = await oubliette([
    'serve',
    '--home',
    join(scratch, 'taken'),
    '--port',
    '0',
    '--host',
    '203.0.113.7',
  ]);
  assert.equal(elsewhere.code, 1);
  assert.match(elsewhere.err, /203\.0\.113\.7 is no address of this machine/);
  await server.stop();
});

test('a home that cannot be used is a clear failure', async () => {
  const serve = (home: string) => oubliette(['serve', '--home', home, '--port', '0']);
  const file = join(scratch, 'file');
  await writeFile(file, '');
  const noFolder = await serve(file);
  assert.equal(noFolder.code, 1);
  assert.match(noFolder.err, /The home \S+file cannot be used: EEXIST.* Choose a folder .*--home or OUBLIETTE_HOME/);
  const damaged = join(scratch, 'damaged');
  await mkdir(damaged, { mode: 0o700 });
  await writeFile(join(damaged, 'state.db'), 'no database, but as long as one'.repeat(100));
  const noDatabase = await serve(damaged);
  assert.equal(noDatabase.code, 1);
  assert.match(noDatabase.err, /state\.db is damaged \(file is not a database\)\. .*oubliette restore/);
  const newer = join(scratch, 'newer');
  await mkdir(newer, { mode: 0o700 });
  const db = new DatabaseSync(join(newer, 'state.db'));
  db.exec(
    "CREATE TABLE schema_steps (component TEXT PRIMARY KEY, step INTEGER); INSERT INTO schema_steps VALUES ('tokens', 99)",
  );
  db.close();
  const tooNew = await serve(newer);
  assert.equal(tooNew.code, 1);
  assert.match(
    tooNew.err,
    /The home \S+newer cannot be used: state\.db was written by a newer version .*Update oubliette/,
  );
});

test('without a server a command says how to start one, also when server.json is stale', async () => {
  const home = join(scratch, 'none');
  for (const prepare of [
    async () => {},
    async () => writeFile(join(home, 'server.json'), '{"pid":999999,"url":"http://127.0.0.1:9"}'),
    async () => writeFile(join(home, 'server.json'), 'garbage'),
  ]) {
    await mkdir(home, { recursive: true });
    await prepare();
    const ran = await oubliette(['tools'], { env: { OUBLIETTE_HOME: home } });
    assert.equal(ran.code, 1);
    assert.match(ran.err, /No server is running on .*\. Start one with: oubliette serve/);
  }
  const half = await oubliette(['tools'], { env: { OUBLIETTE_URL: 'http://127.0.0.1:9' } });
  assert.match(half.err, /OUBLIETTE_TOKEN is not/);
});

test('a backup of a running server restores to a home that serves the same', async () => {
  const server = await startTestServer({ home: join(scratch, 'backed-up') });
  const env = { OUBLIETTE_HOME: server.home };
  await oubliette(['bundle', 'create', 'keepsake'], { env });
  const token = (await oubliette(['token', 'create', '--name', 'kept', '--scope', 'read', '--json'], { env })).json
    .token;
  const file = join(scratch, 'backup.tar.gz');
  assert.equal((await oubliette(['backup', file, '--json'], { env })).code, 0);
  const running = await oubliette(['restore', file], { env });
  assert.equal(running.code, 1);
  assert.match(running.err, /Stop it first/);
  await server.stop();

  const home = join(scratch, 'restored');
  const missing = await oubliette(['restore', join(scratch, 'nowhere.tar.gz'), '--home', home]);
  assert.equal(missing.code, 2);
  assert.match(missing.err, /nowhere\.tar\.gz cannot be read \(ENOENT\)/);
  assert.equal((await oubliette(['restore', file, '--home', home])).code, 0);
  const again = await startTestServer({ home });
  const bundles = await again.fetch('/tools/bundles?pageSize=256', { token });
  assert.equal(bundles.status, 200, 'the token is valid here too');
  const slugs = ((await bundles.json()) as { bundles: { slug: string }[] }).bundles.map((bundle) => bundle.slug);
  assert.ok(slugs.includes('keepsake'));
  await again.stop();
});
