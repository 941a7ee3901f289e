import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { fail, newId, type Failure } from '../../schema/index.ts';

/** Answers what is no readable HTTP request at all in the one shape of errors, then hangs up. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  // Whoever is in the middle of an answer would read this one as a part of it.
  const { _httpMessage: begun } = socket as Socket & { _httpMessage?: ServerResponse | null };
  if (error.code === 'ECONNRESET' || !socket.writable || begun?.headersSent) {
    socket.destroy();
    return;
  }
  const failure = failureOf(error);
  const { code, message, details, http } = failure;
  const body = JSON.stringify({ error: { code, message, details, requestId: newId('req') } });
  const head = [
    `HTTP/1.1 ${http} ${reasons[http] ?? 'Bad Request'}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

const reasons: Record<number, string> = {
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
};

function failureOf(error: NodeJS.ErrnoException): Failure {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return fail('headers.too_large');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return fail('request.timeout');
    case 'HPE_INVALID_METHOD':
      return fail('request.invalid', { reason: 'its method is not known' });
    default:
      return fail('request.invalid', { reason: 'it is no HTTP request that can be read' });
  }
}
