import type { Logger } from '../../observe/index.ts';
import type { Failure } from '../../schema/index.ts';

export interface ErrorSink {
  log: Logger;
  /** Applied to every error text, so that no secret leaves by one. */
  redact: (text: string) => string;
}

export interface ErrorAnswer {
  status: number;
  headers: Record<string, string>;
  body: { error: object };
}

/** Any failure in the one shape that all of REST has; what is our own fault goes to the log as well. */
export function errorAnswer(failure: Failure, requestId: string, url: string, { log, redact }: ErrorSink): ErrorAnswer {
  const { code, http, message } = failure;
  if (http === 500)
    log.error({ span: 'rest.request', err: failure.cause ?? failure, requestId, path: pathOf(url) }, message);
  const wait = code === 'rate.limited' || code === 'server.busy' ? /in (\d+) s/.exec(message)?.[1] : undefined;
  const details = failure.details.map((each) => ({ path: redact(each.path), message: redact(each.message) }));
  return {
    status: http === 200 ? 400 : http,
    headers: {
      ...(http === 401 && { 'WWW-Authenticate': 'Bearer realm="oubliette"' }),
      ...(wait !== undefined && { 'Retry-After': wait }),
    },
    body: { error: { code, message: redact(message), details, requestId } },
  };
}

export const pathOf = (url: string): string => url.split('?')[0]!.slice(0, 200);
