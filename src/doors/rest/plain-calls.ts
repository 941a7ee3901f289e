import type { IncomingHttpHeaders, IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Gate, ToolRef } from '../../gate/index.ts';
import { asFailure, newId, type Actor } from '../../schema/index.ts';
import { argsOf, callText, whenGone } from './answer-call.ts';
import { atEndOfTurn } from './end-of-turn.ts';
import { parseBody } from './json-body.ts';
import { errorAnswer, type ErrorSink } from './error-answer.ts';

export interface PlainCallDeps extends ErrorSink {
  gate: Gate;
  /** Who holds the token of a request; throws auth.required or auth.invalid. */
  byToken(request: { headers: IncomingHttpHeaders }): Promise<Actor>;
  /** True when Host and Origin of a request leave nothing to refuse and nothing to answer. */
  isOrdinary(request: IncomingMessage): boolean;
}

const json = /^application\/json(?:;\s*charset=utf-8)?$/i;
const exactPath = /^\/tools\/bundles\/([0-9a-f-]{36})\/tools\/([\w-]{1,64})\/version\/([\w.-]{1,64})\/invoke$/;
const namePath = /^\/call\/(\w{1,200})$/;
const mostKept = 1000;

/**
 * Takes calls off the server before the router sees them: what it does for a request costs as much as the whole call.
 * Only those that it would let pass without a word, and that ask for one answer; everything else goes to it as ever.
 */
export function plainCalls(app: FastifyInstance, deps: PlainCallDeps): void {
  const { server } = app;
  const [router] = server.listeners('request') as RequestListener[];
  if (!router) return;
  const maxBytes = app.initialConfig.bodyLimit ?? 0;
  const refs = new Map<string, ToolRef>();
  let isClosing = false;
  const refOf = (path: string): ToolRef | undefined => {
    const known = refs.get(path);
    if (known !== undefined) return known;
    const ref = refIn(path);
    if (ref !== undefined && refs.size < mostKept) refs.set(path, ref);
    return ref;
  };
  server.off('request', router);
  server.on('request', (request, response) => {
    const ref = request.method === 'POST' && !isClosing ? refOf(request.url ?? '') : undefined;
    if (ref === undefined || !isPlain(request.headers, maxBytes) || !deps.isOrdinary(request))
      return router(request, response);
    void answer(request, response, ref, deps, () => router(request, response));
  });
  app.addHook('preClose', async () => {
    isClosing = true;
  });
}

function refIn(path: string): ToolRef | undefined {
  const [, bundleID, slug, version] = exactPath.exec(path) ?? [];
  if (bundleID && slug && version) return { bundleID, slug, version };
  return namePath.exec(path)?.[1];
}

function isPlain(headers: IncomingHttpHeaders, maxBytes: number): boolean {
  const length = Number(headers['content-length']);
  return (
    length > 0 &&
    length <= maxBytes &&
    json.test(headers['content-type'] ?? '') &&
    headers['content-encoding'] === undefined &&
    headers.authorization !== undefined &&
    headers.expect === undefined &&
    !headers.accept?.includes('text/event-stream')
  );
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  ref: ToolRef,
  deps: PlainCallDeps,
  route: () => void,
): Promise<void> {
  let actor: Actor;
  try {
    actor = await deps.byToken(request);
  } catch {
    return route();
  }
  const body = wholeBody(request) ?? (await readBody(request));
  if (body === undefined) return;
  const requestId = newId('req');
  try {
    const options = { signal: () => whenGone(response), requestId };
    send(response, 200, callText(await deps.gate.call(actor, ref, argsOf(parseBody(body)), options)), []);
  } catch (error) {
    const { status, headers, body: text } = errorAnswer(asFailure(error), requestId, request.url ?? '', deps);
    send(response, status, JSON.stringify(text), Object.entries(headers).flat());
  }
}

function send(response: ServerResponse, status: number, text: string, headers: readonly string[]): void {
  atEndOfTurn(() => {
    if (response.destroyed) return;
    const length = String(Buffer.byteLength(text));
    response.writeHead(status, [...headers, 'content-type', 'application/json; charset=utf-8', 'content-length', length]);
    response.end(text);
  });
}

/** The body of a request that came in one piece: there is no need to wait for its end, which has come already. */
function wholeBody(request: IncomingMessage): Buffer | undefined {
  const isThere = request.readableLength > 0 && request.readableLength === Number(request.headers['content-length']);
  return isThere ? (request.read() as Buffer) : undefined;
}

/** The body of any other; undefined when the client hung up before its end. */
function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.once('end', () => resolve(Buffer.concat(chunks)));
    request.once('close', () => resolve(undefined));
  });
}
