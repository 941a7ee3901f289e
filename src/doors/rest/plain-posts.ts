import type { IncomingHttpHeaders, IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { asFailure, cameIn, newId, type Failure } from '../../schema/index.ts';
import type { BodyRoom } from './body-room.ts';
import { errorAnswer, type ErrorSink } from './error-answer.ts';
import { afterTheRest } from './server.ts';

/** A POST or PUT that the router has not seen. */
export interface PlainPost {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Hands it to the router after all; before its body was read. */
  route(): void;
  /** The body, at once if it came in one piece; undefined when the client hung up before its end, or there is no room for it and they were told so. */
  body(): Buffer | Promise<Buffer | undefined>;
}

export type ServePost = (post: PlainPost) => void;

/** POSTs and PUTs of JSON that are taken off the server before the router sees them: what it does for one costs as much as a whole call. */
export interface PlainPosts {
  /** Takes those POSTs to all paths for which `find` knows how they are served; it is asked once for each path. */
  take(find: (path: string) => ServePost | undefined): void;
  /** The same for PUTs, but it is asked for each: hardly any path is put twice. */
  takePuts(find: (path: string) => ServePost | undefined): void;
}

const json = /^application\/json(?:;\s*charset=utf-8)?$/i;
const mostKept = 1000;

/** Only what the router would let pass without a word is taken; everything else goes to it as ever. */
export function plainPosts(
  app: FastifyInstance,
  isOrdinary: (request: IncomingMessage) => boolean,
  room: BodyRoom,
  maxBytes: () => number,
  sink: ErrorSink,
): PlainPosts {
  const { server } = app;
  const router = server.listeners('request')[0] as RequestListener;
  const takers: ((path: string) => ServePost | undefined)[] = [];
  let findPut: (path: string) => ServePost | undefined = () => undefined;
  const kept = new Map<string, ServePost>();
  let isClosing = false;
  const find = (path: string): ServePost | undefined => {
    const known = kept.get(path);
    if (known) return known;
    for (const taker of takers) {
      const serve = taker(path);
      if (serve && kept.size < mostKept) kept.set(path, serve);
      if (serve) return serve;
    }
    return undefined;
  };
  const serverOf = ({ method, url = '' }: IncomingMessage): ServePost | undefined => {
    if (isClosing) return undefined;
    if (method === 'POST') return find(url);
    return method === 'PUT' ? findPut(url) : undefined;
  };
  const read = ({ request, response }: Post): Promise<Buffer | undefined> =>
    room.read(request, maxBytes()).catch((error: unknown) => {
      refuse(request, response, asFailure(error), sink);
      return undefined;
    });
  server.off('request', router);
  server.on('request', (request, response) => {
    cameIn();
    const serve = serverOf(request);
    if (!serve || !isPlain(request.headers, maxBytes()) || !isOrdinary(request)) return router(request, response);
    serve(new Post(request, response, router, read));
  });
  app.addHook('preClose', async () => {
    isClosing = true;
  });
  return { take: (taker) => void takers.push(taker), takePuts: (taker) => void (findPut = taker) };
}

function isPlain(headers: IncomingHttpHeaders, maxBytes: number): boolean {
  const length = Number(headers['content-length']);
  return (
    length > 0 &&
    length <= maxBytes &&
    json.test(headers['content-type'] ?? '') &&
    headers['content-encoding'] === undefined &&
    headers.authorization !== undefined &&
    headers.expect === undefined
  );
}

class Post implements PlainPost {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly #router: RequestListener;
  readonly #read: (post: Post) => Promise<Buffer | undefined>;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    router: RequestListener,
    read: (post: Post) => Promise<Buffer | undefined>,
  ) {
    this.request = request;
    this.response = response;
    this.#router = router;
    this.#read = read;
  }

  route(): void {
    this.#router(this.request, this.response);
  }

  body(): Buffer | Promise<Buffer | undefined> {
    const { request } = this;
    // There is no need to wait for the end of a body that is there: it has come already.
    if (request.readableLength > 0 && request.readableLength === Number(request.headers['content-length']))
      return request.read() as Buffer;
    return this.#read(this);
  }
}

function refuse(request: IncomingMessage, response: ServerResponse, failure: Failure, sink: ErrorSink): void {
  const { status, headers, body } = errorAnswer(failure, newId('req'), request.url ?? '', sink);
  afterTheRest(request, () => {
    if (response.destroyed) return;
    response.writeHead(status, { ...headers, 'content-type': 'application/json; charset=utf-8', connection: 'close' });
    response.end(JSON.stringify(body));
  });
}
