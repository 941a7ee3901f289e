import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';

const streamHeaders = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-cache, no-transform',
  Connection: 'keep-alive',
  'X-Accel-Buffering': 'no',
};
const keepAliveMs = 15_000;
/** A quick answer goes out in one piece; a slow one shows its headers after this long. */
const headAfterMs = 40;
const mostBuffered = 16 * 1024 * 1024;

/** An event stream towards one client: any number of messages, then the end. */
export class Outlet {
  readonly #response: ServerResponse;
  readonly #headers: OutgoingHttpHeaders;
  #timer: NodeJS.Timeout | undefined;
  #isOpen = true;
  #onClose: (() => void) | undefined;

  constructor(response: ServerResponse, headers: OutgoingHttpHeaders) {
    this.#response = response;
    this.#headers = { ...headers, ...streamHeaders };
    this.#timer = setTimeout(() => this.open(), headAfterMs);
    response.once('close', () => this.#closed());
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  onClose(listener: () => void): void {
    this.#onClose = listener;
  }

  /** Sends the headers now. */
  open(): void {
    if (!this.#isOpen || this.#response.headersSent) return;
    clearTimeout(this.#timer);
    this.#response.writeHead(200, this.#headers);
    this.#response.flushHeaders();
    this.#timer = setInterval(() => this.#isOpen && this.#response.write(': keepalive\n\n'), keepAliveMs);
    this.#timer.unref();
  }

  write(message: object): void {
    if (!this.#isOpen) return;
    this.open();
    this.#response.write(frame(message));
    // A client that does not read must not fill our memory.
    if (this.#response.writableLength > mostBuffered) this.#response.destroy();
  }

  end(message?: object): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    clearTimeout(this.#timer);
    const text = message === undefined ? '' : frame(message);
    if (this.#response.headersSent) return void this.#response.end(text);
    // With its length known, an answer in one piece is one write to the network.
    sendWhole(this.#response, 200, text, this.#headers);
  }

  #closed(): void {
    clearTimeout(this.#timer);
    this.#isOpen = false;
    this.#onClose?.();
  }
}

const frame = (message: object): string => `event: message\ndata: ${JSON.stringify(message)}\n\n`;

/** One JSON body and nothing else. */
export function sendJson(response: ServerResponse, status: number, body: object, headers: OutgoingHttpHeaders): void {
  sendWhole(response, status, JSON.stringify(body), { ...headers, 'Content-Type': 'application/json' });
}

interface Whole {
  response: ServerResponse;
  status: number;
  text: string;
  headers: OutgoingHttpHeaders;
}

let ready: Whole[] = [];

/** Answers that are ready in one turn of the event loop leave together: one that wakes a sleeping client holds up the others. */
function sendWhole(response: ServerResponse, status: number, text: string, headers: OutgoingHttpHeaders): void {
  if (ready.push({ response, status, text, headers }) === 1) setImmediate(sendReady);
}

function sendReady(): void {
  const now = ready;
  ready = [];
  for (const { response, status, text, headers } of now) {
    if (response.destroyed) continue;
    response.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(text) });
    response.end(text);
  }
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
