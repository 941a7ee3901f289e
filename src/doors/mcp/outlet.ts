import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { atEndOfTurn, Stragglers } from '../../schema/index.ts';

/** Names and values in turn, as they are written. */
export type HeaderList = readonly string[];

const streamHeaders: HeaderList = [
  'Content-Type',
  'text/event-stream',
  'Cache-Control',
  'no-cache, no-transform',
  'Connection',
  'keep-alive',
  'X-Accel-Buffering',
  'no',
];
const keepAliveMs = 15_000;
/** A quick answer goes out in one piece; a slow one shows its headers after this long, or twice that. */
const headAfterMs = 25;
const mostBuffered = 16 * 1024 * 1024;
const stragglers = new Stragglers<Outlet>(headAfterMs, (each) => each.open());

/** An event stream towards one client: any number of messages, then the end. */
export class Outlet {
  readonly #response: ServerResponse;
  readonly #headers: HeaderList;
  #keepAlive: NodeJS.Timeout | undefined;
  #isEnded = false;

  /** `headers` are those of `streamHead`. */
  constructor(response: ServerResponse, headers: HeaderList) {
    this.#response = response;
    this.#headers = headers;
    stragglers.add(this);
  }

  /** False when nothing more can be said. */
  get isOpen(): boolean {
    return !this.#isEnded && !this.#response.destroyed;
  }

  onClose(listener: () => void): void {
    this.#response.once('close', listener);
  }

  /** Sends the headers now. */
  open(): void {
    if (!this.isOpen || this.#response.headersSent) return;
    stragglers.drop(this);
    this.onClose(() => clearInterval(this.#keepAlive));
    this.#response.writeHead(200, this.#headers as string[]);
    this.#response.flushHeaders();
    this.#keepAlive = setInterval(() => this.isOpen && this.#response.write(': keepalive\n\n'), keepAliveMs);
    this.#keepAlive.unref();
  }

  write(message: object): void {
    if (!this.isOpen) return;
    this.open();
    this.#response.write(frame(message));
    // A client that does not read must not fill our memory.
    if (this.#response.writableLength > mostBuffered) this.#response.destroy();
  }

  end(message?: object): void {
    stragglers.drop(this);
    if (!this.isOpen) return;
    this.#isEnded = true;
    clearInterval(this.#keepAlive);
    const text = message === undefined ? '' : frame(message);
    if (this.#response.headersSent) return void this.#response.end(text);
    // With its length known, an answer in one piece is one write to the network.
    sendWhole(this.#response, 200, text, this.#headers);
  }
}

/** The headers of an event stream, besides those that are given. */
export function streamHead(headers: OutgoingHttpHeaders, sessionId?: string): HeaderList {
  const session = sessionId === undefined ? [] : ['mcp-session-id', sessionId];
  return [...headerList(headers), ...session, ...streamHeaders];
}

function headerList(headers: OutgoingHttpHeaders): string[] {
  return Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [name, String(value)]));
}

const frame = (message: object): string => `event: message\ndata: ${JSON.stringify(message)}\n\n`;

/** One JSON body and nothing else. */
export function sendJson(response: ServerResponse, status: number, body: object, headers: OutgoingHttpHeaders): void {
  sendWhole(response, status, JSON.stringify(body), [...headerList(headers), 'Content-Type', 'application/json']);
}

function sendWhole(response: ServerResponse, status: number, text: string, headers: HeaderList): void {
  atEndOfTurn(() => {
    if (response.destroyed) return;
    response.writeHead(status, [...headers, 'Content-Length', String(Buffer.byteLength(text))]);
    response.end(text);
  });
}

/** A refusal before any request was served. */
export function sendRpcError(
  response: ServerResponse,
  status: number,
  code: number,
  message: string,
  headers: OutgoingHttpHeaders,
): void {
  sendJson(response, status, { jsonrpc: '2.0', error: { code, message }, id: null }, headers);
}
