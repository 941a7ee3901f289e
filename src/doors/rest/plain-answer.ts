import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { asFailure, atEndOfTurn, newId, type Actor } from '../../schema/index.ts';
import { errorAnswer, type ErrorSink } from './error-answer.ts';
import { parseBody } from './json-body.ts';
import type { PlainPost } from './plain-posts.ts';

export interface PlainDeps extends ErrorSink {
  /** Who holds the token of a request; throws auth.required or auth.invalid. */
  byToken(request: { headers: IncomingHttpHeaders; socket?: object }): Actor;
}

/** Answers the JSON of a good answer; `body` is a Failure when it could not be read. */
export type PlainHandler = (actor: Actor, body: unknown, requestId: string) => Promise<string>;

/** Serves what the router has not seen, and answers it as the router would. Who is not known goes to the router. */
export async function answerPlain(
  post: PlainPost,
  status: number,
  deps: PlainDeps,
  handle: PlainHandler,
): Promise<void> {
  const { request, response } = post;
  // A moment later its body has mostly been read, too.
  await Promise.resolve();
  let actor: Actor;
  try {
    actor = deps.byToken(request);
  } catch {
    return post.route();
  }
  const read = post.body();
  const body = read instanceof Buffer ? read : await read;
  if (body === undefined) return;
  const requestId = newId('req');
  try {
    send(response, status, await handle(actor, parseBody(body), requestId), []);
  } catch (error) {
    const { status: refused, headers, body: text } = errorAnswer(asFailure(error), requestId, request.url ?? '', deps);
    send(response, refused, JSON.stringify(text), Object.entries(headers).flat());
  }
}

function send(response: ServerResponse, status: number, text: string, headers: readonly string[]): void {
  atEndOfTurn(() => {
    if (response.destroyed) return;
    const length = String(Buffer.byteLength(text));
    response.writeHead(status, [
      ...headers,
      'content-type',
      'application/json; charset=utf-8',
      'content-length',
      length,
    ]);
    response.end(text);
  });
}
