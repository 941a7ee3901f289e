import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, stat, symlink, truncate, writeFile, appendFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test, type TestContext } from 'node:test';
import { agreeOnVersion, segmentName, type AgentCommand } from '../schema/index.ts';
import type { SpoolRecord, SupervisorLink } from './link.ts';
import { openLink } from './supervisor-link.ts';

const program = new URL('../supervisor.ts', import.meta.url).pathname;
const children = new Set<ChildProcess>();
after(() => children.forEach((child) => child.kill('SIGKILL')));

interface Place {
  mcp: string;
  spool: string;
}

async function place(t: TestContext): Promise<Place> {
  const root = await mkdtemp(join(tmpdir(), 'oub-link-'));
  t.after(() => rm(root, { recursive: true, force: true }));
  await mkdir(join(root, 'mcp'));
  await mkdir(join(root, 'spool'));
  return { mcp: join(root, 'mcp'), spool: join(root, 'spool') };
}

function supervise(t: TestContext, { mcp, spool }: Place, env: Record<string, string> = {}): ChildProcess {
  const child = spawn(process.execPath, [program], {
    env: { OUBLIETTE_MCP: mcp, OUBLIETTE_SPOOL: spool, OUBLIETTE_SESSION: 'ses_1', HOME: join(spool, 'home'), ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  children.add(child);
  child.on('exit', () => children.delete(child));
  // Killed outright it could not end its agent, and no sandbox is around to do so.
  t.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    await once(child, 'exit');
  });
  return child;
}

const inNode = (code: string): AgentCommand => ({ command: [process.execPath, '-e', code], cwd: '/', env: {} });
const echo = inNode(`process.stdin.on('data', (d) => process.stdout.write(d))`);

/** Reads until `enough` says so; the batches read are acknowledged. */
async function readUntil(link: SupervisorLink, enough: (all: SpoolRecord[]) => boolean): Promise<SpoolRecord[]> {
  const all: SpoolRecord[] = [];
  for await (const batch of link.records()) {
    all.push(...batch);
    if (enough(all)) break;
  }
  return all;
}
const lines = (records: SpoolRecord[]): string[] =>
  records.filter((r) => r.kind === 'out').map((r) => (r as { line: string }).line);

test('carries lines to the agent and back, each command once', async (t) => {
  const where = await place(t);
  const link = await openLink({ session: 'ses_1', ...where, from: 0 });
  t.after(() => link.close());
  link.send({ id: '1', do: 'start', agent: echo });
  link.send({ id: '2', do: 'write', line: 'hello' });
  supervise(t, where);
  link.send({ id: '2', do: 'write', line: 'hello' });
  link.send({ id: '3', do: 'write', line: 'wörld' });
  const records = await readUntil(link, (all) => lines(all).includes('wörld'));
  assert.deepEqual(lines(records), ['hello', 'wörld']);
  assert.ok(records.some((r) => r.kind === 'state' && r.state.state === 'started'));
  assert.ok(records.some((r) => r.kind === 'done' && r.id === '2'));
});

test('goes on where the last server stopped, without a gap and without a double', async (t) => {
  const where = await place(t);
  const supervisor = supervise(t, where);
  const first = await openLink({ session: 'ses_1', ...where, from: 0 });
  first.send({
    id: '1',
    do: 'start',
    agent: inNode(
      `let n = 0; setInterval(() => n < 300 && console.log(n++), 2); process.stdin.on('data', (d) => process.stdout.write(d))`,
    ),
  });
  const before = await readUntil(first, (all) => lines(all).length >= 20);
  await first.close();
  const second = await openLink({
    session: 'ses_1',
    ...where,
    from: before.at(-1)!.next,
    outbox: [
      { id: '1', do: 'start', agent: echo },
      { id: '2', do: 'write', line: 'again' },
    ],
  });
  t.after(() => second.close());
  const after = await readUntil(second, (all) => lines(all).includes('299') && lines(all).includes('again'));
  const numbers = lines([...before, ...after]).filter((line) => line !== 'again');
  assert.deepEqual(
    numbers,
    Array.from({ length: 300 }, (_, n) => String(n)),
  );
  assert.equal(supervisor.exitCode, null);
});

test('reports the end of the agent and what it wrote last', async (t) => {
  const where = await place(t);
  supervise(t, where);
  const link = await openLink({ session: 'ses_1', ...where, from: 0 });
  t.after(() => link.close());
  link.send({
    id: '1',
    do: 'start',
    agent: inNode(`console.log('last words'); console.error('why'); process.exitCode = 3`),
  });
  const records = await readUntil(link, (all) => all.some((r) => r.kind === 'state' && r.state.state === 'exited'));
  assert.deepEqual(lines(records), ['last words']);
  assert.ok(records.some((r) => r.kind === 'err' && r.line === 'why'));
  assert.deepEqual((records.at(-1) as { state: unknown }).state, { state: 'exited', code: 3, signal: null });
});

test('says why an agent could not be started and refuses files outside its home', async (t) => {
  const where = await place(t);
  supervise(t, where);
  const link = await openLink({ session: 'ses_1', ...where, from: 0 });
  t.after(() => link.close());
  link.send({ id: '1', do: 'start', agent: { command: ['/no/such/program'], cwd: '/', env: {} } });
  const records = await readUntil(link, (all) => all.some((r) => r.kind === 'state'));
  assert.match(JSON.stringify(records), /no\/such\/program/);
  link.send({ id: '2', do: 'start', agent: { ...echo, files: { '../evil': 'x' } } });
  const refused = await readUntil(link, (all) => all.some((r) => r.kind === 'done' && r.id === '2'));
  assert.match(JSON.stringify(refused), /outside the agent's home/);
});

test('an agent whose start fails at once is told of like any other that failed, and the supervisor goes on', async (t) => {
  const where = await place(t);
  supervise(t, where);
  const link = await openLink({ session: 'ses_1', ...where, from: 0 });
  t.after(() => link.close());
  const failures = (all: SpoolRecord[]): string[] =>
    all.flatMap((r) => (r.kind === 'state' && r.state.state === 'failed' ? [r.state.reason] : []));
  link.send({ id: '1', do: 'start', agent: { ...echo, files: { '../evil': 'x' } } });
  link.send({ id: '2', do: 'start', agent: { ...echo, cwd: program } });
  link.send({ id: '3', do: 'start', agent: echo });
  const records = await readUntil(link, (all) => all.some((r) => r.kind === 'state' && r.state.state === 'started'));
  assert.match(failures(records)[0] ?? '', /outside the agent's home/);
  assert.match(failures(records)[1] ?? '', /ENOTDIR/);
});

test('pauses an agent that floods until the server has read, and loses nothing', async (t) => {
  const where = await place(t);
  supervise(t, where);
  const link = await openLink({ session: 'ses_1', ...where, from: 0, costPerSecond: 10 ** 9 });
  t.after(() => link.close());
  // 100 MiB in lines of 64 KiB, faster than anyone reads.
  link.send({
    id: '1',
    do: 'start',
    agent: inNode(
      `const pad = 'x'.repeat(65526); for (let n = 0; n < 1600; n++) process.stdout.write(String(n).padStart(8) + ' ' + pad + '\\n')`,
    ),
  });
  const spooled = async (): Promise<number> => {
    let sum = 0;
    for (const name of await readdir(where.spool))
      if (name.endsWith('.spool')) sum += (await stat(join(where.spool, name))).size;
    return sum;
  };
  const enough = 64 * 2 ** 20;
  while ((await spooled()) < enough) await new Promise((resolve) => setTimeout(resolve, 50));
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.ok((await spooled()) < enough + 2 ** 20, `spool holds ${await spooled()} bytes`);
  const records = await readUntil(link, (all) => all.some((r) => r.kind === 'state' && r.state.state === 'exited'));
  assert.deepEqual(
    lines(records).map((line) => Number(line.slice(0, 8))),
    Array.from({ length: 1600 }, (_, n) => n),
  );
  assert.ok(records.some((r) => r.kind === 'state' && r.state.state === 'paused'));
});

test('reads an agent that floods with short lines slowly, a thousand lines at a time', async (t) => {
  const where = await place(t);
  supervise(t, where);
  const link = await openLink({ session: 'ses_1', ...where, from: 0, costPerSecond: 500_000 });
  t.after(() => link.close());
  link.send({ id: '1', do: 'start', agent: inNode(`for (;;) process.stdout.write('y\\n'.repeat(1000))`) });
  const started = performance.now();
  let count = 0;
  for await (const batch of link.records()) {
    assert.ok(batch.length <= 1000);
    count += batch.length;
    if (count > 3000 && performance.now() - started > 1500) break;
  }
  const seconds = (performance.now() - started) / 1000;
  assert.ok(count * 512 < 500_000 * (seconds + 4) + 2 * 1000 * 512, `${count} records in ${seconds} s`);
});

test('drops a line without end and goes on behind it', async (t) => {
  const where = await place(t);
  supervise(t, where);
  const link = await openLink({ session: 'ses_1', ...where, from: 0 });
  t.after(() => link.close());
  link.send({ id: '1', do: 'start', agent: inNode(`process.stdout.write('y'.repeat(17 * 2 ** 20) + '\\nafter\\n')`) });
  const records = await readUntil(link, (all) => lines(all).includes('after'));
  const lost = records.find((r) => r.kind === 'lost');
  assert.deepEqual([lost?.stream, lost?.bytes], ['stdout', 17 * 2 ** 20]);
});

test('ends itself when no server is heard of', async (t) => {
  const where = await place(t);
  const supervisor = supervise(t, where, { OUBLIETTE_LONELY_MS: '400' });
  const [code] = await once(supervisor, 'exit');
  assert.equal(code, 0);
});

test('stops the agent and itself on command, also an agent that ignores signals', async (t) => {
  const where = await place(t);
  const supervisor = supervise(t, where);
  const exit = once(supervisor, 'exit');
  const link = await openLink({ session: 'ses_1', ...where, from: 0 });
  t.after(() => link.close());
  link.send({
    id: '1',
    do: 'start',
    agent: inNode(`process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.log('up')`),
  });
  await readUntil(link, (all) => lines(all).includes('up'));
  link.send({ id: '2', do: 'stop', graceMs: 100 });
  const [code] = await exit;
  assert.equal(code, 0);
  link.ended();
  const rest = await readUntil(link, () => false);
  assert.ok(rest.some((r) => r.kind === 'state' && r.state.state === 'exited' && r.state.signal === 'SIGKILL'));
});

test('survives forged, linked and absurd spool files', async (t) => {
  const where = await place(t);
  await writeFile(join(where.spool, segmentName(0)), 'o{"ok":1}\nz???\nc[]\ns{"state":"dancing"}\nohalf');
  await symlink('/etc/passwd', join(where.spool, segmentName(48)));
  await writeFile(join(where.spool, segmentName(900)), 'obehind\n');
  await truncate(join(where.spool, segmentName(900)), 2 ** 40);
  const link = await openLink({ session: 'ses_1', ...where, from: 0 });
  t.after(() => link.close());
  link.ended();
  const records = await readUntil(link, () => false);
  assert.deepEqual(lines(records), ['{"ok":1}']);
  assert.ok(!JSON.stringify(records).includes('root:'));
  assert.ok(records.filter((r) => r.kind === 'garbled').length >= 4);
  for (const [i, record] of records.entries()) if (i > 0) assert.equal(record.offset, records[i - 1]!.next);
});

test('an impostor on the socket cannot take commands away from the supervisor', async (t) => {
  const where = await place(t);
  const link = await openLink({ session: 'ses_1', ...where, from: 0 });
  t.after(() => link.close());
  const impostor = connect(join(where.mcp, 'control.sock'));
  t.after(() => impostor.destroy());
  impostor.write('garbage\n[]\n{"hello":{"v":["x",1],"session":"ses_1","offset":1e99}}\n');
  const [greeting] = await once(impostor, 'data');
  assert.match(String(greeting), /"hello"/);
  supervise(t, where);
  link.send({ id: '1', do: 'start', agent: echo });
  link.send({ id: '2', do: 'write', line: 'still mine' });
  assert.deepEqual(lines(await readUntil(link, (all) => lines(all).length > 0)), ['still mine']);
});

test('closes a connection that sends a line without end', async (t) => {
  const where = await place(t);
  const link = await openLink({ session: 'ses_1', ...where, from: 0 });
  t.after(() => link.close());
  const flooder = connect(join(where.mcp, 'control.sock'));
  flooder.on('error', () => {});
  flooder.write('x'.repeat(10 ** 6) + '\n');
  await once(flooder, 'close');
});

test('a supervisor of a version that we no longer speak is reported', async (t) => {
  const where = await place(t);
  const incompatible = Promise.withResolvers<number[]>();
  const link = await openLink({ session: 'ses_1', ...where, from: 0, onIncompatible: incompatible.resolve });
  t.after(() => link.close());
  const old = connect(join(where.mcp, 'control.sock'));
  t.after(() => old.destroy());
  old.write('{"hello":{"v":[0],"session":"ses_1","offset":0}}\n');
  assert.deepEqual(await incompatible.promise, [0]);
  assert.equal(link.connected, false);
  assert.equal(agreeOnVersion([3, 2], [4, 3]), 3);
});

test('a socket path that the system cannot hold is refused with the reason', async (t) => {
  const { spool } = await place(t);
  const mcp = join(spool, 'a'.repeat(100));
  await mkdir(mcp);
  await assert.rejects(openLink({ session: 'ses_1', mcp, spool, from: 0 }), /longer than 107 bytes/);
});

test('a record that is still being written is read when it is whole', async (t) => {
  const where = await place(t);
  const file = join(where.spool, segmentName(0));
  await writeFile(file, 'oone\notw');
  const link = await openLink({ session: 'ses_1', ...where, from: 0 });
  t.after(() => link.close());
  const seen: string[] = [];
  for await (const batch of link.records()) {
    seen.push(...lines(batch));
    if (seen.length === 1) await appendFile(file, 'o\n');
    if (seen.length === 2) break;
  }
  assert.deepEqual(seen, ['one', 'two']);
});
