import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { examine } from './doctor.ts';
import { machineChecks } from './machine-checks.ts';

const home = await mkdtemp(join(tmpdir(), 'oub-doctor-'));
after(() => rm(home, { recursive: true, force: true }));
const find = async (name: string, folder = home) =>
  (await examine(machineChecks(folder))).checks.filter((check) => check.name === name);

test('a check that throws or hangs does not keep the others from speaking', async () => {
  const report = await examine(
    [
      { name: 'fine', look: async () => ({ status: 'ok', text: 'well' }) },
      { name: 'throws', look: () => Promise.reject(new Error('broken')) },
      { name: 'hangs', look: () => new Promise(() => {}) },
      {
        name: 'many',
        look: async () => [
          { status: 'warn', text: 'one' },
          { status: 'ok', text: 'two' },
        ],
      },
    ],
    50,
  );
  assert.equal(report.ok, false);
  assert.deepEqual(
    report.checks.map((check) => [check.name, check.status, check.text]),
    [
      ['fine', 'ok', 'well'],
      ['throws', 'fail', 'broken'],
      ['hangs', 'fail', 'no answer within 50 ms'],
      ['many', 'warn', 'one'],
      ['many', 'ok', 'two'],
    ],
  );
});

test('a home that others may read fails, with the command that mends it', async () => {
  assert.equal((await find('home'))[0]?.status, 'ok');
  for (const name of ['admin.token', 'secret.key', 'home.key']) {
    const file = join(home, name);
    await writeFile(file, 'x', { mode: 0o600 });
    await chmod(file, 0o644);
    const [finding] = await find('home');
    assert.equal(finding?.status, 'fail');
    assert.equal(finding?.advice, `chmod go= ${file}`);
    await rm(file);
  }
});

test('a home that is no folder cannot be written to', async () => {
  const file = join(home, 'a-file');
  await writeFile(file, '', { mode: 0o600 });
  assert.equal((await find('home', file))[0]?.text, `${file} is no folder that can be written`);
});

test('a damaged database is named, a missing home is no failure', async () => {
  assert.equal((await find('home', join(home, 'nowhere')))[0]?.status, 'warn');
  await writeFile(join(home, 'state.db'), 'this is no database, and it is long enough to be looked at', {
    mode: 0o600,
  });
  const [finding] = await find('state');
  assert.equal(finding?.status, 'fail');
  assert.equal(finding?.text, 'state.db is damaged: file is not a database');
  assert.match(finding?.advice ?? '', /oubliette restore/);
});

for (const text of ['{bad', '', 'null', '{"pid":1}'])
  test(`a server.json that holds ${JSON.stringify(text)} is named, with what to do`, async () => {
    await writeFile(join(home, 'server.json'), text);
    const [finding] = await find('server');
    await rm(join(home, 'server.json'));
    assert.equal(finding?.status, 'warn');
    assert.match(finding?.text ?? '', /^server\.json is damaged/);
    assert.match(finding?.advice ?? '', /oubliette serve/);
  });

test('a server that takes connections and does not answer hangs, and the doctor says what to do', async () => {
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  await writeFile(join(home, 'server.json'), JSON.stringify({ pid: 4321, url }));
  const [finding] = await find('server');
  silent.close();
  await rm(join(home, 'server.json'));
  assert.equal(finding?.status, 'fail');
  assert.equal(finding?.text, `the server at ${url} (pid 4321) takes connections, but does not answer`);
  assert.match(finding?.advice ?? '', /kill 4321.*oubliette serve$/);
});

test('a server.json of a server that is gone is a warning', async () => {
  assert.equal((await find('server'))[0]?.text, 'not running');
  await writeFile(join(home, 'server.json'), JSON.stringify({ pid: 1, url: 'http://127.0.0.1:9' }));
  assert.equal((await find('server'))[0]?.status, 'warn');
});
