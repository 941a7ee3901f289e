import type { IncomingMessage } from 'node:http';
import swagger from '@fastify/swagger';
import fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { asFailure, atEndOfTurn, fail, Failure, newId, type Settings } from '../../schema/index.ts';
import { hasBody, type BodyRoom } from './body-room.ts';
import { answerClientError } from './client-error.ts';
import { described } from './described.ts';
import { errorAnswer, pathOf, type ErrorSink } from './error-answer.ts';
import { jsonBodies } from './json-body.ts';
import { knownVerbs } from './known-verbs.ts';
import { allowOrigin, checkHost, checkOrigin, isPreflight } from './origin.ts';

export interface ServerOptions extends ErrorSink {
  settings: () => Settings;
  version: string;
  room: BodyRoom;
}

/** The HTTP server all doors share: named errors, Host and Origin checks, request ids, nothing else. */
export async function httpServer(options: ServerOptions): Promise<FastifyInstance> {
  const { settings, version } = options;
  const app = fastify({
    logger: false,
    // A request without Host is refused by our own check, in the one shape of errors.
    http: { requireHostHeader: false },
    // Routes may set a lower one; what the configuration says is asked for each body, since it may change.
    bodyLimit: Number.MAX_SAFE_INTEGER,
    genReqId: () => newId('req'),
    routerOptions: { maxParamLength: 2048, ignoreTrailingSlash: false },
    // Shapes are checked in the gate, in the order of the contract; here they only document.
    ajv: { customOptions: { strict: false } },
    // What the router refuses (broken escapes, endless names) has the one shape of errors too.
    frameworkErrors: (error, request, reply) => void sendError(error, request, reply, options),
    clientErrorHandler: answerClientError,
    forceCloseConnections: 'idle',
    // Who asks while the server stops is refused by our own check too.
    return503OnClosing: false,
  });
  // An expectation that nobody knows is no reason to refuse; the library would, without an error in our shape.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => (value) => JSON.stringify(value));
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply, options));
  const verbsOf = knownVerbs(app);
  const notFound = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const { method } = request;
    const path = pathOf(request.url);
    const known = verbsOf(request.url.split('?')[0]!);
    if (known.length === 0 || known.includes(method))
      return sendError(fail('route.not_found', { method, path }), request, reply, options);
    void reply.header('Allow', known.join(', '));
    return sendError(fail('method.not_allowed', { method, path, known: known.join(', ') }), request, reply, options);
  };
  app.setNotFoundHandler(notFound);
  jsonBodies(app, options.room, () => settings().http.maxBodyBytes);
  let isStopping = false;
  app.addHook('preClose', async () => void (isStopping = true));
  app.addHook('onRequest', (request, reply, done) => {
    const { http } = settings();
    try {
      checkHost(request, http.publicUrl);
      checkOrigin(request, http);
      allowOrigin(request, reply, http);
      if (isStopping) throw fail('server.stopping');
      // Nobody reads a body that nobody asked for.
      if (request.is404) void notFound(request, reply);
      else done();
    } catch (error) {
      done(error as Error);
    }
  });
  app.addHook('onSend', (_request, _reply, _payload, done) => atEndOfTurn(done));
  app.options('*', { schema: { hide: true } }, (request, reply) =>
    isPreflight(request) ? reply.code(204).send() : notFound(request, reply),
  );
  await app.register(swagger, {
    transform: ({ schema, url }) => described(schema, url),
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Oubliette', version, description: 'Tools, the agents that use them, and who may do what.' },
      components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
      security: [{ token: [] }],
    },
  });
  return app;
}

/** Answers any error in the one shape that all of REST has. */
export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply, sink: ErrorSink): FastifyReply {
  const failure = error instanceof Failure ? error : fromFastify(error as FastifyError, request);
  const { status, headers, body } = errorAnswer(failure, request.id, request.url, sink);
  const answer = (): FastifyReply => reply.code(status).headers(headers).type('application/json').send(body);
  if (!hasBody(request.headers)) return answer();
  afterTheRest(request.raw, answer);
  return reply;
}

/**
 * Hanging up on someone who is still sending makes them see a broken connection instead of our answer: the rest is read
 * and thrown away first, within reason.
 */
export function afterTheRest(raw: IncomingMessage, answer: () => void): void {
  if (raw.readableEnded || raw.destroyed) return answer();
  let bytes = 0;
  const count = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes > mostThrownAway) done();
    else quiet.refresh();
  };
  const done = (): void => {
    clearTimeout(quiet);
    raw.off('data', count).off('end', done).off('close', done);
    answer();
  };
  const quiet = setTimeout(done, quietMs);
  raw.on('data', count).on('end', done).on('close', done);
}

const mostThrownAway = 64 * 2 ** 20;
const quietMs = 500;

function fromFastify(error: FastifyError, request: FastifyRequest): Failure {
  // Whoever sent it left in the middle: no fault of ours, and nobody is there to read the answer.
  if (request.raw.errored && error.code === 'ECONNRESET') return fail('request.timeout');
  switch (error.code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return fail('media_type.unsupported', { type: request.headers['content-type'] ?? '(none)' });
  }
  if (error.code === 'FST_ERR_MAX_PARAM_LENGTH')
    return fail('request.invalid', { reason: 'a part of the address is longer than any name can be' });
  const status = error.statusCode ?? 500;
  return status >= 400 && status < 500
    ? fail('request.invalid', { reason: error.message }, { cause: error })
    : asFailure(error);
}
