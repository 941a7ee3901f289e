import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Actor } from '../schema/index.ts';
import { Database, sqliteTokens, type TokenStore } from '../store/index.ts';
import { ensureAdminToken, keepAdminToken } from './admin-token.ts';
import { tokens, type Tokens } from './tokens.ts';

const local: Actor = { kind: 'local', door: 'cli', principal: 'local', level: 'admin' };
const code = (expected: string) => (error: unknown) => (error as { code?: string }).code === expected;

describe('tokens', () => {
  let folder: string;
  let db: Database;
  let store: TokenStore;
  let all: Tokens;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'oub-tokens-'));
    db = new Database(join(folder, 'state.db'));
    store = await sqliteTokens(db);
    all = tokens(store);
  });
  after(async () => {
    await db.close();
    await rm(folder, { recursive: true });
  });

  test('each secret on a connection is looked at for itself, however often one was accepted there before', async () => {
    const [one, two] = [
      await all.mint(local, { name: 'one', scope: 'read' }),
      await all.mint(local, { name: 'two', scope: 'write' }),
    ];
    const connection = {};
    const who = (secret: string): string | undefined => all.authenticate(secret, 'rest', connection).tokenId;
    for (const { secret, row } of [one, one, two, one, two, two]) assert.equal(who(secret), row.id);
    for (const at of [4, 25, two.secret.length - 1]) {
      const other = two.secret[at] === 'A' ? 'B' : 'A';
      assert.throws(() => who(two.secret.slice(0, at) + other + two.secret.slice(at + 1)), code('auth.invalid'));
      assert.equal(who(two.secret), two.row.id);
    }
    await all.revoke(local, two.row.id);
    assert.throws(() => who(two.secret), code('auth.invalid'));
    assert.equal(who(one.secret), one.row.id);
  });

  test('a key that a session was granted gets no secret that outlives the session', async () => {
    const owner = await all.mint(local, { name: 'owner', scope: 'admin', projects: ['proj_x'] });
    const session = { id: 'ses_1', projectId: 'proj_x' };
    const granted = await all.mint(local, { name: 'granted', scope: 'admin', projects: ['proj_x'], session });
    const other = await all.mint(local, {
      name: 'of another session',
      scope: 'read',
      projects: ['proj_x'],
      session: { ...session, id: 'ses_2' },
    });
    const agent = all.authenticate(granted.secret, 'socket');
    for (const { row, secret } of [owner, other]) {
      await assert.rejects(all.rotate(agent, row.id), code('scope.denied'));
      assert.equal(all.authenticate(secret, 'rest').tokenId, row.id, 'the old secret is still good');
    }
    const renewed = await all.rotate(agent, granted.row.id);
    assert.equal(all.authenticate(renewed.secret, 'socket').isGranted, true);
  });

  for (const text of ['', '\n', 'oub_unknown\n'])
    test(`a token file that holds ${JSON.stringify(text)} gets a token that works`, async () => {
      const path = join(folder, 'admin.token');
      await writeFile(path, text);
      const secret = await ensureAdminToken(path, store);
      assert.equal((await readFile(path, 'utf8')).trim(), secret);
      assert.equal(all.authenticate(secret, 'cli').level, 'admin');
      assert.equal(await ensureAdminToken(path, store), secret, 'and keeps it');
    });

  test('a new secret of the local admin goes into its file, one of any other token does not', async () => {
    const path = join(folder, 'rotated.token');
    const first = await ensureAdminToken(path, store);
    const kept = keepAdminToken(all, path, store);
    const other = await kept.mint(local, { name: 'other', scope: 'admin' });
    await kept.rotate(local, other.row.id);
    assert.equal(await readFile(path, 'utf8'), `${first}\n`);
    const { secret, row } = await kept.rotate(local, all.authenticate(first, 'cli').tokenId!);
    assert.equal(await readFile(path, 'utf8'), `${secret}\n`);
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    assert.equal(all.authenticate(secret, 'cli').tokenId, row.id);
    assert.throws(() => all.authenticate(first, 'cli'), code('auth.invalid'));
    assert.equal(await ensureAdminToken(path, store), secret, 'and the next start keeps it');
  });
});
