import type { FastifyInstance, FastifyReply } from 'fastify';
import { fail } from '../../schema/index.ts';
import type { Topics, WebDeps } from './deps.ts';

const pingMs = 15_000;
/** Changes within this time are reported as one. */
const gatherMs = 200;
const mostUnsentBytes = 256 * 1024;

/** GET /events?topics=a,b: says that something changed, never what, so that it needs no filter of its own. */
export function changeStream(app: FastifyInstance, { authenticate, topics, tokens }: WebDeps): void {
  const open = new Set<() => void>();
  app.addHook('preClose', async () => {
    for (const end of open) end();
  });
  app.get(
    '/events',
    { exposeHeadRoute: false, schema: { summary: 'One stream of changes for the web app', querystring: querySchema } },
    async (request, reply) => {
      await authenticate(request);
      const wanted = wantedTopics(request.query as { topics?: string | string[] }, topics);
      const stream = sseStream(reply);
      stream.send('hello', { topics: wanted, ping_ms: pingMs });
      const check = (): void =>
        void authenticate(request).then(
          () => stream.send('ping', {}),
          () => stream.end(),
        );
      const stop = [
        tokens.onRevoke(check),
        ...wanted.map((topic) => topics[topic]!(gathered(() => stream.send(topic, { at: new Date().toISOString() })))),
      ];
      const timer = setInterval(check, pingMs);
      const end = (): void => stream.end();
      open.add(end);
      reply.raw.once('close', () => {
        clearInterval(timer);
        open.delete(end);
        for (const each of stop) each();
      });
      return reply;
    },
  );
}

const querySchema = {
  type: 'object',
  properties: { topics: { type: 'string', description: 'catalog, sessions; comma-separated or repeated' } },
};

function wantedTopics(query: { topics?: string | string[] }, topics: Topics): string[] {
  const names = [query.topics ?? Object.keys(topics)]
    .flat()
    .flatMap((each) => each.split(','))
    .filter((each) => each !== '');
  const unknown = names.find((name) => !Object.hasOwn(topics, name));
  if (unknown !== undefined)
    throw fail(
      'request.invalid',
      { reason: `topics has no ${unknown.slice(0, 50)}; there are ${Object.keys(topics).join(', ')}` },
      {
        details: [{ path: '/topics', message: `must be of ${Object.keys(topics).join(', ')}` }],
      },
    );
  return [...new Set(names)];
}

function sseStream(reply: FastifyReply): { send(event: string, data: object): void; end(): void } {
  reply.hijack();
  reply.raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'Content-Type': 'text/event-stream',
    'Cache-Control': 'no-store',
    'X-Accel-Buffering': 'no',
  });
  reply.raw.flushHeaders();
  return {
    send: (event, data) => {
      if (reply.raw.writableLength > mostUnsentBytes) reply.raw.destroy();
      else if (!reply.raw.writableEnded) reply.raw.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    },
    end: () => reply.raw.end(),
  };
}

function gathered(tell: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  return () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      tell();
    }, gatherMs);
    timer.unref();
  };
}
