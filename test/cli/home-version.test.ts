import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { homeFormat, waitForOlderServers } from '../../src/store/index.ts';
import { oubliette, startTestServer } from '../kit/running-server.ts';

const run = promisify(execFile);

const scratch = await mkdtemp(join(tmpdir(), 'oub-version-'));
after(() => rm(scratch, { recursive: true, force: true }));
const home = join(scratch, 'home');
const backup = join(scratch, 'backup.tar.gz');

/** A home that this version made, and a backup of it. */
before(async () => {
  await (await startTestServer({ home })).stop();
  assert.equal((await oubliette(['backup', backup, '--home', home])).code, 0);
});

const markAs = (format: number, program: string): void =>
  change(`UPDATE home_version SET format = ${format}, program = '${program}'`);

function change(sql: string): void {
  const db = new DatabaseSync(join(home, 'state.db'));
  db.exec(sql);
  db.close();
}

/** Every file of the home and what is in it; side files of SQLite come and go with whoever looks. */
async function everything(): Promise<string[]> {
  const all = await readdir(home, { recursive: true, withFileTypes: true });
  const files = all.filter((each) => each.isFile() && !/-(wal|shm)$/.test(each.name));
  const lines = files.map(async ({ parentPath, name }) => {
    const path = join(parentPath, name);
    const { mtimeMs } = await stat(path);
    return `${path} ${mtimeMs} ${createHash('sha256')
      .update(await readFile(path))
      .digest('hex')}`;
  });
  return (await Promise.all(lines)).sort();
}

/** The format, and the steps that make it. Where they are no longer these, raise homeFormat and write them down anew. */
const format = 1;
const known =
  'asks 4, audit 2, audit_start 1, blobs 2, event_files 1, events 2, projects 1, results 1, secrets 1, sessions 2, ' +
  'sessions_live 1, sign-ins 1, stats 1, switches 1, tokens 1, usage 1, utility_boxes 1';

test('whoever changes the tables of a home raises its format, so that older versions leave it alone', () => {
  const db = new DatabaseSync(join(home, 'state.db'), { readOnly: true });
  const rows = db.prepare('SELECT component, step FROM schema_steps ORDER BY component').all();
  const marked = db.prepare('SELECT format FROM home_version').get() as { format: number };
  db.close();
  const steps = rows.map(({ component, step }) => `${component} ${step}`).join(', ');
  assert.deepEqual({ format: marked.format, steps }, { format, steps: known });
  assert.equal(homeFormat, format);
});

test('on a home of a newer version nothing starts, and nothing is written', async () => {
  markAs(homeFormat + 1, '7.8.9');
  const before = await everything();
  const says =
    /The home \S+ cannot be used: version 7\.8\.9 wrote it, .*Use version 7\.8\.9 or a later one.*oubliette restore/;
  const started = await startTestServer({ home }).then(
    async (server) => `started, and ended with ${await server.stop()}`,
    (error: Error) => error.message,
  );
  const made = await oubliette(['backup', join(scratch, 'never.tar.gz'), '--home', home, '--json']);
  assert.equal(made.code, 1);
  for (const text of [started, made.err]) {
    assert.match(text, says);
    assert.match(text, /"home\.unusable"/);
  }
  const doctor = await oubliette(['doctor', '--home', home, '--json']);
  assert.equal(doctor.code, 1);
  const state = doctor.json.checks.find(({ name }: { name: string }) => name === 'state');
  assert.match(state.text, /^version 7\.8\.9 wrote state\.db, and this one is older$/);
  assert.deepEqual(await everything(), before);
  await assert.rejects(stat(join(scratch, 'never.tar.gz')), { code: 'ENOENT' });
});

test('a backup of this version leads back from a newer home; one of a newer version changes nothing', async () => {
  const newer = join(scratch, 'newer.tar.gz');
  await writeFile(join(scratch, 'oubliette-backup.json'), '{"format":1}');
  await run('tar', ['czf', newer, '-C', scratch, 'oubliette-backup.json', '-C', home, 'state.db']);
  const back = await oubliette(['restore', backup, '--home', home]);
  assert.equal(back.code, 0, back.err);
  const before = await everything();
  const refused = await oubliette(['restore', newer, '--home', home, '--json']);
  assert.equal(refused.code, 1);
  assert.match(refused.err, /"import\.invalid".* version 7\.8\.9 wrote, which this older version cannot use/);
  assert.deepEqual(await everything(), before);
  await (await startTestServer({ home })).stop();
});

test('a home is not restored under any server that uses it, also one that server.json does not name', async (t) => {
  const first = await startTestServer({ home });
  t.after(() => first.stop());
  const second = await startTestServer({ home });
  // Until the other one writes its name there, nobody is named.
  process.kill(first.pid, 'SIGSTOP');
  await second.stop();
  try {
    await assert.rejects(stat(join(home, 'server.json')), { code: 'ENOENT' });
    const refused = await oubliette(['restore', backup, '--home', home, '--json']);
    assert.equal(refused.code, 1);
    assert.match(refused.err, /"server\.running".*A server runs on \S+\. Stop it first/);
  } finally {
    process.kill(first.pid, 'SIGCONT');
  }
  assert.equal((await first.fetch('/tools/bundles')).status, 200);
  await first.stop();
  assert.equal((await oubliette(['restore', backup, '--home', home])).code, 0);
});

test('a newer version does not change a home under an older server, and starts once that one has ended', async (t) => {
  const older = await startTestServer({ home });
  t.after(() => older.stop());
  markAs(homeFormat - 1, '0.0.1');
  await assert.rejects(waitForOlderServers(home, 10), {
    code: 'server.running',
    message: /^A server of an older version runs on .* Stop it first\.$/,
  });
  let isStarted = false;
  const newer = startTestServer({ home }).finally(() => (isStarted = true));
  await sleep(2500);
  assert.equal(isStarted, false);
  await older.stop();
  await (await newer).stop();
  const db = new DatabaseSync(join(home, 'state.db'));
  assert.deepEqual({ ...db.prepare('SELECT format FROM home_version').get() }, { format: homeFormat });
  db.close();
});
