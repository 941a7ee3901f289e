import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestServer } from './running-server.ts';

export interface Wish {
  method?: string;
  path?: string;
  token?: string;
  headers?: Record<string, string>;
}

/** POSTs, or what else is wished for, as they are written on the wire, and what comes back, to the letter. */
export class RawPosts {
  readonly #server: TestServer;
  readonly #path: string;
  readonly #accept: string;

  constructor(server: TestServer, path: string, accept: string) {
    this.#server = server;
    this.#path = path;
    this.#accept = accept;
  }

  get port(): number {
    return Number(new URL(this.#server.url).port);
  }

  /** As most clients write it. */
  plain(message: unknown, wish: Wish = {}): Buffer {
    const body = bytesOf(message);
    return Buffer.concat([Buffer.from(`${this.#head(wish)}content-length: ${body.length}\r\n\r\n`), body]);
  }

  /** The same without a length, which the router takes. */
  chunked(message: unknown, wish: Wish = {}): Buffer {
    const body = bytesOf(message);
    const chunk = body.length === 0 ? [] : [Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n')];
    return Buffer.concat([
      Buffer.from(`${this.#head(wish)}transfer-encoding: chunked\r\n\r\n`),
      ...chunk,
      Buffer.from('0\r\n\r\n'),
    ]);
  }

  #head({ method = 'POST', path = this.#path, token = this.#server.token, headers = {} }: Wish): string {
    const all = {
      host: `127.0.0.1:${this.port}`,
      accept: this.#accept,
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      ...headers,
    };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    return `${method} ${path} HTTP/1.1\r\n${lines.join('')}`;
  }

  /** Writes pieces one after the other on one connection; answers what came back until `answers` bodies are complete. */
  async say(pieces: Buffer | Buffer[], answers = 1): Promise<string> {
    const socket = connect(this.port, '127.0.0.1');
    socket.setNoDelay(true).setEncoding('utf8');
    let text = '';
    const done = new Promise<void>((resolve) => {
      socket.on('data', (chunk: string) => {
        text += chunk;
        if (complete(text) >= answers) resolve();
      });
      socket.on('close', () => resolve());
    });
    await once(socket, 'connect');
    for (const piece of [pieces].flat()) {
      socket.write(piece);
      await sleep(15);
    }
    await done;
    socket.destroy();
    return text;
  }
}

const bytesOf = (message: unknown): Buffer =>
  Buffer.isBuffer(message) ? message : Buffer.from(typeof message === 'string' ? message : JSON.stringify(message));

/** How many whole answers are in the text; one without a length is the last. */
function complete(text: string): number {
  if (text.endsWith('\r\n0\r\n\r\n')) return Infinity;
  let count = 0;
  for (let rest = text; ; count++) {
    const end = rest.indexOf('\r\n\r\n');
    const length = Number(/content-length: (\d+)/i.exec(rest.slice(0, Math.max(end, 0)))?.[1] ?? NaN);
    if (end < 0 || !(Buffer.byteLength(rest.slice(end + 4)) >= length)) return count;
    rest = Buffer.from(rest.slice(end + 4))
      .subarray(length)
      .toString();
  }
}

/** Without what differs from one answer to the next. */
export const comparable = (text: string): string =>
  inOnePiece(text)
    .replace(/date: [^\r]+\r\n/gi, '')
    .replace(/req_\w+/g, 'req_x')
    .replace(/keep-alive: [^\r]+\r\n/gi, '')
    // Of two that are asked for at the same time one may be told a second less.
    .replace(/(retry-after: |try again in )\d+/gi, '$1some')
    .split('\r\n')
    .map((line) => line.replace(/^[\w-]+(?=: )/, (name) => name.toLowerCase()))
    // An event stream that has its answer at once is sent whole, another one in pieces: a matter of time too.
    .filter((line, _, lines) => !framing.test(line) || !lines.includes('content-type: text/event-stream'))
    .sort()
    .join('\n');

const framing = /^(?:content-length: \d+|transfer-encoding: chunked)$/;

/** An answer whose body came in chunks with the chunks joined: where one ends is a matter of time, not of meaning. */
function inOnePiece(text: string): string {
  const end = text.indexOf('\r\n\r\n') + 4;
  if (!/^transfer-encoding: chunked\r$/im.test(text.slice(0, end))) return text;
  const pieces: Buffer[] = [];
  for (let rest = Buffer.from(text.slice(end)); rest.length > 0;) {
    const line = rest.indexOf('\r\n');
    const length = Number.parseInt(rest.toString('latin1', 0, line), 16);
    pieces.push(rest.subarray(line + 2, line + 2 + length));
    rest = rest.subarray(line + 2 + length + 2);
  }
  return text.slice(0, end) + Buffer.concat(pieces).toString();
}
