import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Somebody who has said all that they want to say may end their half of the connection and wait for the answer; whoever
 * hangs up looks just the same. Only what is sent to them tells: one that is gone has it sent back, which fails the next
 * write. Quick answers come before the first of these.
 */
const looksAfterMs = [30, 30, 200, 1000];
const laterMs = 5000;

interface Inner {
  /** Answers are sent also to those who have ended their half. */
  httpAllowHalfOpen: boolean;
}

/** The answer that is under way on a connection, and the headers that were sent of it. */
interface Answering extends Socket {
  _httpMessage?: (ServerResponse & { _header: string | null }) | null;
}

export function answerHalfClosed(server: Server): void {
  (server as unknown as Inner).httpAllowHalfOpen = true;
  server.on('connection', (socket) => socket.once('end', halfClosed));
}

function halfClosed(this: Answering): void {
  lookSoon(this, 0);
}

function lookSoon(socket: Answering, looks: number): void {
  const timer = setTimeout(() => {
    if (socket.destroyed || !socket._httpMessage) return;
    knock(socket, socket._httpMessage);
    lookSoon(socket, looks + 1);
  }, looksAfterMs[looks] ?? laterMs);
  timer.unref();
}

/** Sends what says nothing to whoever reads it. */
function knock(socket: Answering, answer: NonNullable<Answering['_httpMessage']>): void {
  if (answer.headersSent) {
    // Of anything else, bytes are on their way.
    const isIdle = answer._header?.toLowerCase().includes('content-type: text/event-stream');
    if (isIdle && !answer.writableEnded) answer.write(':\n\n');
  } else if (answer.req.httpVersion === '1.0') socket.destroy();
  else answer.writeProcessing();
}
