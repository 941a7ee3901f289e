import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Tokens } from '../../auth/index.ts';
import type { Asks, EventLog, Followed, Presence } from '../../log/index.ts';
import { fail, type Actor } from '../../schema/index.ts';
import type { Sessions } from '../../sessions/index.ts';
import { textParam } from './query.ts';
import { resource, type Authenticate } from './resource.ts';

const defaultPingMs = 15_000;
/** For what was written when the server stops: whoever reads has it by then. */
const lastWordsMs = 3000;
const stopping = new Error('the server stops');

export interface EventStreamDeps {
  authenticate: Authenticate;
  sessions: Sessions;
  log: EventLog;
  asks: Asks;
  presence: Presence;
  tokens: Pick<Tokens, 'onRevoke'>;
  pingMs?: number;
}

/** GET /sessions/{id}/events: server-sent events, or the answer of session_events when JSON is asked for. */
export function eventStreamRoutes(app: FastifyInstance, deps: EventStreamDeps): void {
  const open = new Set<AbortController>();
  app.addHook('preClose', async () => {
    for (const stop of open) stop.abort(stopping);
  });
  resource(app, deps.authenticate, '/sessions/:id/events', {
    GET: {
      summary: 'Follow the events of a session (text/event-stream), or read some of them (application/json)',
      query: Type.Object({
        after: Type.Optional(Type.Integer({ minimum: -1 })),
        max_events: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
      }),
      handle: async (request, reply, actor) => {
        const { id } = request.params as { id: string };
        await deps.sessions.get(actor, id);
        const after = cursorOf(request);
        if (wantsJson(request)) return deps.sessions.events(actor, id, after ?? -1, maxEvents(request));
        const stop = new AbortController();
        open.add(stop);
        try {
          await stream(deps, request, reply, actor, id, after, stop);
        } finally {
          open.delete(stop);
        }
        return reply;
      },
    },
  });
}

async function stream(
  deps: EventStreamDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  actor: Actor,
  sessionId: string,
  after: number | undefined,
  stop: AbortController,
): Promise<void> {
  const pingMs = deps.pingMs ?? defaultPingMs;
  const { raw } = reply;
  reply.hijack();
  raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'Content-Type': 'text/event-stream',
    'Cache-Control': 'no-store',
    'X-Accel-Buffering': 'no',
  });
  raw.flushHeaders();
  raw.on('error', () => stop.abort());
  raw.once('close', () => stop.abort());
  const leave = deps.presence.enter(sessionId, actor.principal);
  // A token that is revoked, has expired or lost its reach closes the stream.
  const check = async (): Promise<void> => {
    try {
      await deps.sessions.get(await deps.authenticate(request), sessionId);
      if (raw.writableLength === 0) raw.write(`event: ping\ndata: {}\n\n`);
    } catch {
      stop.abort();
    }
  };
  const timer = setInterval(() => void check(), pingMs);
  const expiry = setInterval(() => void deps.authenticate(request).catch(() => stop.abort()), 1000);
  const unlisten = deps.tokens.onRevoke(() => void deps.authenticate(request).catch(() => stop.abort()));
  try {
    for await (const item of deps.log.follow(sessionId, {
      ...(after !== undefined && { after }),
      signal: stop.signal,
    })) {
      const isFree = raw.write(framesOf(item, sessionId, pingMs));
      if (item.kind === 'hello' && item.isResumed) await announceAsks(deps, raw, sessionId, after!);
      if (!isFree) await drained(raw, stop.signal);
    }
  } finally {
    clearInterval(timer);
    clearInterval(expiry);
    unlisten();
    leave();
    finish(raw, stop.signal.reason === stopping);
  }
}

/** Whoever left words unread would hold the connection for ever, and a revoked token still be told them. */
function finish(raw: FastifyReply['raw'], mayReadOn: boolean): void {
  if (raw.writableLength === 0) return void raw.end();
  if (!mayReadOn) return void raw.destroy();
  const late = setTimeout(() => raw.destroy(), lastWordsMs);
  raw.once('close', () => clearTimeout(late));
  raw.end();
}

function framesOf(item: Followed, sessionId: string, pingMs: number): Buffer | string {
  switch (item.kind) {
    case 'events':
      return item.frames;
    case 'delta':
      return `event: delta\ndata: ${JSON.stringify(item.delta)}\n\n`;
    case 'reset':
      return `event: reset\ndata: ${JSON.stringify(item.bounds)}\n\n`;
    case 'hello':
      return `event: hello\ndata: ${JSON.stringify({ session_id: sessionId, ...item.bounds, ping_ms: pingMs })}\n\n`;
  }
}

/** Open questions that lie before the cursor: whoever resumes may have missed that they still wait. */
async function announceAsks(
  { asks, log }: EventStreamDeps,
  raw: FastifyReply['raw'],
  sessionId: string,
  after: number,
): Promise<void> {
  for (const ask of await asks.open(sessionId)) {
    if (ask.eventIndex > after) continue;
    const [event] = await log.readStored(sessionId, ask.eventIndex - 1, 1);
    if (event) raw.write(`event: ask_pending\ndata: ${event.json}\n\n`);
  }
}

function drained(raw: FastifyReply['raw'], signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      raw.off('drain', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    raw.once('drain', done);
    signal.addEventListener('abort', done, { once: true });
    if (signal.aborted || raw.destroyed) done();
  });
}

/**
 * An event source that reconnects says how far it came in Last-Event-ID and repeats its address, so the header counts
 * more than an `?after=` in it. One that is no index counts as outside the log and gets a reset.
 */
function cursorOf(request: FastifyRequest): number | undefined {
  const after = textParam(request.query, 'after');
  if (after !== undefined && !index.test(after))
    throw fail(
      'request.invalid',
      { reason: `after must be an index from -1 on (${after.slice(0, 50)})` },
      { details: [{ path: '/after', message: 'must be an index from -1 on' }] },
    );
  const header = request.headers['last-event-id'];
  const cursor = header === undefined || header === '' ? after : String(header);
  if (cursor === undefined) return undefined;
  return index.test(cursor) ? Math.min(Number(cursor), Number.MAX_SAFE_INTEGER) : Number.MAX_SAFE_INTEGER;
}

const index = /^(-1|\d+)$/;

function maxEvents(request: FastifyRequest): number {
  const value = textParam(request.query, 'max_events') ?? '100';
  if (!/^\d{1,9}$/.test(value) || Number(value) < 1)
    throw fail('request.invalid', { reason: 'max_events must be a number from 1 to 1000' });
  return Math.min(Number(value), 1000);
}

function wantsJson(request: FastifyRequest): boolean {
  const accept = request.headers.accept ?? '';
  return accept.includes('application/json') && !accept.includes('text/event-stream');
}
