import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Actor } from '../../schema/index.ts';
import { hasBody } from './body-room.ts';
import { described } from './described.ts';

/** Turns a request into whoever asks; throws auth.required or auth.invalid. */
export type Authenticate = (request: FastifyRequest) => Promise<Actor>;

/** The bearer token of a request; empty when the header is there but holds none. Never read from the query. */
export function bearerOf(request: Pick<FastifyRequest, 'headers'>): string | undefined {
  const header = request.headers.authorization;
  if (header === undefined) return undefined;
  return /^Bearer (\S+)$/i.exec(header)?.[1] ?? '';
}

type Handler = (request: FastifyRequest, reply: FastifyReply, actor: Actor) => Promise<unknown>;

export interface Verb {
  /** For /openapi.json. */
  summary: string;
  body?: object;
  query?: object;
  answers?: Record<number, object>;
  handle: Handler;
}

/** Registers the verbs of one path; all of them need a token. */
export function resource(
  app: FastifyInstance,
  authenticate: Authenticate,
  url: string,
  handlers: Partial<Record<'GET' | 'PUT' | 'PATCH' | 'POST' | 'DELETE', Verb>>,
): void {
  for (const [method, verb] of Object.entries(handlers)) {
    const schema = {
      summary: verb.summary,
      ...(verb.body && { body: verb.body }),
      ...(verb.query && { querystring: verb.query }),
      ...(verb.answers && { response: verb.answers }),
    };
    app.route({
      method,
      url,
      exposeHeadRoute: false,
      // Only for the papers: the gate checks shapes itself, in the order of the contract.
      config: { swaggerTransform: () => described(schema, url) },
      // Who asks comes first: no body of a stranger is read.
      onRequest: async (request) => {
        if (hasBody(request.headers)) await authenticate(request);
      },
      handler: async (request, reply) => verb.handle(request, reply, await authenticate(request)),
    });
  }
}
