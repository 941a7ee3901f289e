import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Database } from '../store/index.ts';
import { AuditChain, type Entry } from './audit-chain.ts';
import { AuditThread } from './audit-thread.ts';

const key = Buffer.alloc(32, 7);
const entry: Entry = ['at', 'req', null, 't', 'id', 'b', 'read', 'rest', 'p', null, null, null, 'ok', 1, 2, 'aa', 1];
let folder: string;
before(async () => (folder = await mkdtemp(join(tmpdir(), 'oub-audit-'))));
after(() => rm(folder, { recursive: true }));

const portion = (size: number): string => JSON.stringify(Array.from({ length: size }, () => entry));

test('what it appends joins the chain, and leaves the list that was handed over', async () => {
  const db = new Database(join(folder, 'state.db'));
  const chain = await AuditChain.open(db, key);
  const thread = new AuditThread(join(folder, 'state.db'), key);
  const portions = [portion(256), portion(256), portion(88)];
  await thread.append(portions);
  assert.deepEqual(portions, []);
  assert.deepEqual(await chain.verify(), { ok: true, rows: 600 });
  await thread.end();
  await db.close();
});

test('text that a database cannot hold as it is does not break the chain', async () => {
  const db = new Database(join(folder, 'odd.db'));
  const chain = await AuditChain.open(db, key);
  await chain.append([entry.with(10, '\ud800'), entry.with(10, 'a\0b'), entry]);
  assert.deepEqual(await chain.verify(), { ok: true, rows: 3 });
  await db.close();
});

test('a thread that ended while nobody waited refuses, and keeps what it was given', { timeout: 60_000 }, async () => {
  const thread = new AuditThread(join(folder, 'state.db'), key);
  await thread.append([portion(1)]);
  await thread.end();
  const portions = [portion(1)];
  await assert.rejects(thread.append(portions), /the thread that writes the audit ended/);
  assert.equal(portions.length, 1);
});

test('a database that cannot be opened is told to whoever waits', { timeout: 60_000 }, async () => {
  const thread = new AuditThread(join(folder, 'no', 'such', 'state.db'), key);
  await assert.rejects(thread.append([portion(1)]), /ENOENT/);
});
