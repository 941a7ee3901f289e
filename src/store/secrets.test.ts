import assert from 'node:assert/strict';
import { mkdtemp, readFile, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { until } from '../../test/kit/until.ts';
import { redactor, secretForms } from './redactor.ts';
import { sqliteSecrets, type SecretStore } from './secrets.ts';
import { Database } from './sqlite.ts';

const folders: string[] = [];
const databases: Database[] = [];
after(async () => {
  await Promise.all(databases.map((db) => db.close()));
  await Promise.all(folders.map((folder) => rm(folder, { recursive: true })));
});

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'oub-secrets-'));
  folders.push(made);
  return made;
}
async function open(home: string): Promise<SecretStore> {
  const db = new Database(join(home, 'state.db'));
  databases.push(db);
  return sqliteSecrets(db, join(home, 'secret.key'));
}
const code = (expected: string) => (error: unknown) => (error as { code?: string }).code === expected;

test('a secret is kept, used and listed without its value', async () => {
  const secrets = await open(await folder());
  await secrets.set('API_KEY', 'hunter2hunter2', ['api.example.org']);
  const used = await secrets.get('API_KEY');
  assert.deepEqual([used.value, used.hosts], ['hunter2hunter2', ['api.example.org']]);
  const listed = JSON.stringify(await secrets.list());
  assert.match(listed, /API_KEY/);
  assert.doesNotMatch(listed, /hunter2/);
  assert.equal(await secrets.remove('API_KEY'), true);
  assert.equal(await secrets.remove('API_KEY'), false);
  await assert.rejects(secrets.get('API_KEY'), code('secret.missing'));
});

test('a new value keeps the hosts of the old one until it is told others or none', async () => {
  const secrets = await open(await folder());
  await secrets.set('API_KEY', 'first value', ['api.example.org']);
  assert.deepEqual((await secrets.set('API_KEY', 'second value')).hosts, ['api.example.org']);
  assert.deepEqual(await secrets.get('API_KEY'), {
    name: 'API_KEY',
    value: 'second value',
    hosts: ['api.example.org'],
  });
  assert.deepEqual((await secrets.set('API_KEY', 'third value', ['example.com'])).hosts, ['example.com']);
  assert.equal((await secrets.set('API_KEY', 'fourth value', [])).hosts, undefined);
  assert.deepEqual(await secrets.get('API_KEY'), { name: 'API_KEY', value: 'fourth value' });
});

test('short values, odd names and broken text are refused without repeating the value', async () => {
  const secrets = await open(await folder());
  for (const [name, value] of [
    ['A', 'seven77'],
    ['1A', 'longenough'],
    ['', 'longenough'],
    ['a b', 'longenough'],
    ['A', '\ud800aaaaaaaa'],
    ['A', 'x'.repeat(20_000)],
  ] as const)
    await assert.rejects(
      secrets.set(name, value),
      (error: Error) => code('request.invalid')(error) && !error.message.includes(value),
    );
  assert.deepEqual(await secrets.list(), []);
});

test('no file of the home holds the value in any form, and the key file is private', async () => {
  const home = await folder();
  const secrets = await open(home);
  const value = 'c4n4ry?/+ value "quoted" ü';
  await secrets.set('CANARY', value);
  await secrets.rotateKey();
  for (const name of await readdir(home)) {
    const bytes = await readFile(join(home, name));
    for (const form of secretForms(value)) assert.equal(bytes.includes(form), false, `${name} holds ${form}`);
  }
  assert.equal((await stat(join(home, 'secret.key'))).mode & 0o777, 0o600);
});

test('a new key makes the old one useless and keeps every secret, also for another process', async () => {
  const home = await folder();
  const one = await open(home);
  const two = await open(home);
  await one.set('A', 'first value');
  await one.set('B', 'second value', ['example.org']);
  assert.equal((await two.get('A')).value, 'first value');
  const before = await readFile(join(home, 'secret.key'), 'utf8');
  assert.equal(await one.rotateKey(), 2);
  const now = await readFile(join(home, 'secret.key'), 'utf8');
  assert.equal(now.trim().split('\n').length, 1);
  assert.notEqual(now, before);
  assert.equal((await one.get('B')).value, 'second value');
  await two.set('C', 'third value');
  assert.equal((await one.get('C')).value, 'third value');
  assert.equal((await two.get('B')).value, 'second value');
});

test('a secret that another process sealed under a new key is made unreadable as soon as it can be used', async () => {
  const home = await folder();
  const one = await open(home);
  const two = await open(home);
  const hidden = redactor(two);
  await one.set('A', 'first value');
  assert.equal(hidden.text((await two.get('A')).value), '[secret:A]');
  const before = two.version();
  await one.rotateKey();
  await one.set('B', 'second value');
  await until(() => two.version() > before + 1);
  hidden.text('has looked at what there is, and cannot open it yet');
  assert.equal(hidden.text((await two.get('B')).value), '[secret:B]');
});

test('two processes that take new keys at the same moment lose no secret', async () => {
  const home = await folder();
  const one = await open(home);
  const two = await open(home);
  await one.set('A', 'first value');
  for (let round = 0; round < 20; round++) {
    await Promise.all([
      one.rotateKey(),
      two.rotateKey(),
      one.set('B', `value ${round} of one`),
      two.set('C', 'third value'),
    ]);
    const fresh = await open(home);
    assert.deepEqual(
      await Promise.all(['A', 'B', 'C'].map(async (name) => (await fresh.get(name)).value)),
      ['first value', `value ${round} of one`, 'third value'],
      `round ${round}`,
    );
  }
  assert.equal((await readFile(join(home, 'secret.key'), 'utf8')).trim().split('\n').length, 1);
});

test('a key that another process took while there was no secret is the one that the first is sealed under', async () => {
  const home = await folder();
  const one = await open(home);
  const two = await open(home);
  await one.rotateKey();
  await two.set('A', 'first value');
  assert.equal((await (await open(home)).get('A')).value, 'first value');
});

test('a row that was moved to another name or freed of its hosts by hand cannot be read', async () => {
  const home = await folder();
  const secrets = await open(home);
  await secrets.set('A', 'first value', ['example.org']);
  const db = databases.at(-1)!;
  await db.write((tx) => {
    tx.run('UPDATE secrets SET hosts = NULL');
    tx.run('UPDATE secrets_version SET version = version + 1');
  });
  const fresh = await open(home);
  await assert.rejects(fresh.get('A'), code('secret.missing'));
  assert.equal((await fresh.list())[0]?.isUnreadable, true);
});

test('placeholders of a text are filled, literal ones are left', async () => {
  const secrets = await open(await folder());
  await secrets.set('TOKEN', 'tok-12345');
  assert.equal(await secrets.fill('Bearer ${TOKEN} $${TOKEN} ${ TOKEN }'), 'Bearer tok-12345 ${TOKEN} tok-12345');
  await assert.rejects(secrets.fill('${NOPE}'), code('secret.missing'));
});
