// Both sides of `events`: our log behind our stream route, and a bare fan-out that writes the same frames to as many responses.
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import fastify from 'fastify';
import { eventStreamRoutes } from '../src/doors/rest/index.ts';
import { asks, eventLog, presence } from '../src/log/index.ts';
import type { Sessions } from '../src/sessions/index.ts';
import { Database, openAsks, openEvents } from '../src/store/index.ts';

const folder = await mkdtemp(join(tmpdir(), 'oub-bench-'));
const db = new Database(join(folder, 'state.db'));
const log = eventLog({ db, events: await openEvents(db, folder) });
const present = presence();
const questions = asks({ log, tables: await openAsks(db), presence: present, reconnectGraceMs: () => 1000 });
const app = fastify({ logger: false });
const body = {
  type: 'message',
  role: 'agent',
  text: 'a line of about eighty characters, as agents write them while they work along',
  message_id: 'msg_1',
} as const;

eventStreamRoutes(app, {
  authenticate: async () => ({ kind: 'local', door: 'rest', principal: 'local', level: 'admin' }),
  sessions: { get: async () => ({}) } as unknown as Sessions,
  log,
  asks: questions,
  presence: present,
  tokens: { onRevoke: () => () => {} },
});

/** Events under way at the same time. */
const atOnce = 256;
app.post('/append', async (request) => {
  const { session, n, batch } = request.query as { session: string; n: string; batch?: string };
  const bodies = Array.from({ length: Number(batch ?? 1) }, () => body);
  const startedAt = performance.now();
  let left = Number(n);
  const inFlight = Math.max(1, atOnce / bodies.length);
  const one = async (): Promise<void> => {
    while ((left -= bodies.length) >= 0) await log.append(session, 1, ...bodies);
  };
  await Promise.all(Array.from({ length: inFlight }, one));
  return { ms: performance.now() - startedAt };
});
await app.listen({ port: 0, host: '127.0.0.1' });

const plain = new DatabaseSync(join(folder, 'plain.db'));
plain.exec(
  'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; CREATE TABLE frames (run INTEGER, idx INTEGER, frame BLOB, PRIMARY KEY (run, idx)) WITHOUT ROWID',
);
const insert = plain.prepare('INSERT INTO frames VALUES (?, ?, ?)');
let run = 0;
const open = new Set<ServerResponse>();
const bare = createServer((request, response) => {
  const url = new URL(request.url!, 'http://x');
  if (url.pathname === '/events') {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('event: hello\ndata: {}\n\n');
    open.add(response);
    response.once('close', () => open.delete(response));
    return;
  }
  const at = new Date().toISOString();
  const isStored = url.searchParams.has('stored');
  void (async () => {
    for (let index = 0; index < Number(url.searchParams.get('n')); index++) {
      const frame = Buffer.from(
        `id: ${index}\nevent: message\ndata: ${JSON.stringify({ index, ...body, at, session_id: 'ses_bare', turn: 1 })}\n\n`,
      );
      if (isStored && index % atOnce === 0) plain.exec('BEGIN IMMEDIATE');
      if (isStored) insert.run(run, index, frame);
      if (isStored && index % atOnce === atOnce - 1) plain.exec('COMMIT');
      for (const each of open) each.write(frame);
      // Lets the sockets breathe, as a server must.
      if (index % atOnce === atOnce - 1) await new Promise(setImmediate);
    }
    if (plain.isTransaction) plain.exec('COMMIT');
    run++;
    response.end('{}');
  })();
});
await new Promise<void>((resolve) => bare.listen(0, '127.0.0.1', resolve));
const urlOf = (server: { address(): unknown }): string =>
  `http://127.0.0.1:${(server.address() as { port: number }).port}`;
console.log(JSON.stringify({ ours: urlOf(app.server), bare: urlOf(bare) }));
process.on('SIGTERM', () => {
  void (async () => {
    bare.closeAllConnections();
    bare.close();
    await app.close();
    questions.close();
    log.close();
    await db.close();
    plain.close();
    await rm(folder, { recursive: true });
    process.exit(0);
  })();
});
