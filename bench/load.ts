import { connect, type Socket } from 'node:net';
import { once } from 'node:events';

export interface Load {
  url: string;
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: unknown;
  /** Requests that wait for an answer at the same time, each on its own connection. */
  inFlight: number;
  /** Stop after so many answers. */
  requests: number;
  /** Called with the body of every answer; throw to fail. */
  check?: (body: string, status: number) => void;
}

export interface LoadResult {
  perSecond: number;
  /** Milliseconds per request. */
  p50: number;
  p95: number;
}

/** Sends prepared bytes over plain sockets: the client must cost as little as possible beside what it measures. */
export async function load(options: Load): Promise<LoadResult> {
  const bytes = requestBytes(options);
  const { hostname, port } = new URL(options.url);
  const lines = await Promise.all(Array.from({ length: options.inFlight }, () => Line.open(hostname, Number(port))));
  const times: number[] = [];
  let left = options.requests;
  const startedAt = performance.now();
  await Promise.all(
    lines.map(async (line) => {
      while (left-- > 0) {
        const sentAt = performance.now();
        const answer = await line.ask(bytes);
        times.push(performance.now() - sentAt);
        if (options.check) options.check(answer.body, answer.status);
        else if (answer.status !== 200)
          throw new Error(`${options.path} answered ${answer.status}: ${answer.body.slice(0, 300)}`);
      }
    }),
  );
  const seconds = (performance.now() - startedAt) / 1000;
  for (const line of lines) line.close();
  times.sort((a, b) => a - b);
  return {
    perSecond: options.requests / seconds,
    p50: times[times.length >> 1]!,
    p95: times[Math.floor(times.length * 0.95)]!,
  };
}

export function requestBytes({
  url,
  method = 'POST',
  path,
  headers = {},
  body,
}: Omit<Load, 'inFlight' | 'requests'>): Buffer {
  const text = body === undefined ? '' : JSON.stringify(body);
  const all: Record<string, string> = { host: new URL(url).host, ...headers };
  if (body !== undefined)
    Object.assign(all, { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) });
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${head.join('')}\r\n${text}`);
}

/** One kept-alive connection with one request at a time. */
export class Line {
  readonly #socket: Socket;
  #rest: Buffer = Buffer.alloc(0);
  #done: ((answer: { status: number; body: string }) => void) | undefined;
  #fail: ((error: Error) => void) | undefined;

  static async open(host: string, port: number): Promise<Line> {
    const socket = connect(port, host);
    socket.setNoDelay(true);
    await once(socket, 'connect');
    return new Line(socket);
  }

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('error', (error) => this.#fail?.(error));
    socket.on('close', () => this.#fail?.(new Error('the server closed the connection')));
  }

  ask(bytes: Buffer): Promise<{ status: number; body: string }> {
    return new Promise((resolve, reject) => {
      this.#done = resolve;
      this.#fail = reject;
      this.#socket.write(bytes);
    });
  }

  #take(chunk: Buffer): void {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const end = this.#rest.indexOf('\r\n\r\n');
    if (end < 0) return;
    const head = this.#rest.toString('latin1', 0, end);
    const status = Number(head.slice(9, 12));
    const body = bodyOf(head, this.#rest.subarray(end + 4));
    if (body === undefined) return;
    this.#rest = Buffer.alloc(0);
    this.#done?.({ status, body });
  }

  close(): void {
    this.#fail = undefined;
    this.#socket.destroy();
  }
}

/** The whole body, or undefined while some of it is still under way. */
function bodyOf(head: string, rest: Buffer): string | undefined {
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (length !== undefined) return rest.length >= Number(length) ? rest.toString('utf8', 0, Number(length)) : undefined;
  if (!/\r\ntransfer-encoding: *chunked/i.test(head)) return rest.toString('utf8');
  if (!rest.subarray(-5).equals(Buffer.from('0\r\n\r\n'))) return undefined;
  let text = '';
  for (let at = 0; at < rest.length;) {
    const lineEnd = rest.indexOf('\r\n', at);
    const size = parseInt(rest.toString('latin1', at, lineEnd), 16);
    if (!size) break;
    text += rest.toString('utf8', lineEnd + 2, lineEnd + 2 + size);
    at = lineEnd + 2 + size + 2;
  }
  return text;
}
