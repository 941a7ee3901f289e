import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { relayLineBytes, type RpcError } from '../schema/relay.ts';

/** What the server answered with an error, or why no answer will come. */
export class RelayError extends Error {
  readonly code: number;
  constructor({ code, message }: Pick<RpcError, 'code' | 'message'>) {
    super(message);
    this.code = code;
  }
}

interface Pending {
  id: string;
  method: string;
  params: object;
  /** Only a request that was sent before is marked as sent again; all others must run. */
  isSent: boolean;
  resolve: (result: unknown) => void;
  reject: (error: Error) => void;
}

export interface RelayLinkOptions {
  path: string;
  onNotification(method: string, params: Record<string, unknown>): void;
  onConnect(): void;
}

const firstRetryMs = 25;
const longestRetryMs = 1000;

/**
 * The client's end of the socket. It connects, and connects again when the server went away; calls that were pending
 * are sent again under the same id, and fail when no server is back in time or the session is over.
 */
export class RelayLink {
  graceMs = 10_000;
  readonly #options: RelayLinkOptions;
  readonly #pending = new Map<string, Pending>();
  readonly #prefix = randomBytes(12).toString('hex');
  #count = 0;
  #socket: Socket | undefined;
  #lostAt = performance.now();
  #retryMs = firstRetryMs;
  #giveUp: NodeJS.Timeout | undefined;
  #over: string | undefined;

  constructor(options: RelayLinkOptions) {
    this.#options = options;
    this.#connect();
  }

  call(method: string, params: object, signal?: AbortSignal): Promise<unknown> {
    if (this.#over !== undefined) return Promise.reject(gone(this.#over));
    if (!this.#socket && performance.now() - this.#lostAt > this.graceMs)
      return Promise.reject(gone('the server is not there'));
    const id = `call_${this.#prefix}_${++this.#count}`;
    return new Promise((resolve, reject) => {
      const pending: Pending = { id, method, params, isSent: false, resolve, reject };
      const line = lineOf(pending);
      if (isTooLong(line))
        return reject(gone(`the arguments are too large: a call may have ${relayLineBytes} bytes at most`));
      this.#pending.set(id, pending);
      if (this.#socket) this.#write(this.#socket, pending, line);
      this.#watchGrace();
      signal?.addEventListener('abort', () => this.#cancel(id), { once: true });
    });
  }

  #cancel(id: string): void {
    const pending = this.#pending.get(id);
    if (!pending) return;
    this.#pending.delete(id);
    this.#socket?.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'cancel', params: { id } })}\n`);
    pending.reject(gone('the call was cancelled'));
  }

  #write(socket: Socket, pending: Pending, line: string): void {
    pending.isSent = true;
    socket.write(line);
  }

  #connect(): void {
    if (this.#over !== undefined) return;
    const socket = connect(this.#options.path);
    let rest = '';
    socket.setEncoding('utf8');
    socket.once('connect', () => {
      this.#socket = socket;
      this.#retryMs = firstRetryMs;
      clearTimeout(this.#giveUp);
      this.#giveUp = undefined;
      for (const pending of this.#pending.values()) this.#write(socket, pending, lineOf(pending));
      this.#options.onConnect();
    });
    socket.on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop()!;
      for (const line of lines) if (line !== '') this.#take(line);
    });
    socket.on('error', () => {});
    socket.once('close', () => this.#lost(socket));
  }

  #lost(socket: Socket): void {
    if (this.#socket === socket) {
      this.#socket = undefined;
      this.#lostAt = performance.now();
    }
    if (this.#over !== undefined) return;
    this.#watchGrace();
    setTimeout(() => this.#connect(), this.#retryMs * (0.5 + Math.random())).unref();
    this.#retryMs = Math.min(this.#retryMs * 2, longestRetryMs);
  }

  #watchGrace(): void {
    if (this.#socket || this.#giveUp || this.#pending.size === 0) return;
    this.#giveUp = setTimeout(
      () => {
        this.#giveUp = undefined;
        if (!this.#socket) this.#failAll('the server went away and did not come back');
      },
      Math.max(0, this.#lostAt + this.graceMs - performance.now()),
    );
  }

  #take(line: string): void {
    const message = JSON.parse(line) as {
      id?: string;
      method?: string;
      params?: Record<string, unknown>;
      result?: unknown;
      error?: RpcError;
    };
    if (message.method !== undefined) return this.#options.onNotification(message.method, message.params ?? {});
    const pending = this.#pending.get(message.id ?? '');
    if (!pending) return;
    this.#pending.delete(pending.id);
    if (message.error) pending.reject(new RelayError(message.error));
    else pending.resolve(message.result);
  }

  #failAll(reason: string): void {
    const all = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject } of all) reject(gone(reason));
  }

  /** Nobody will answer any more: fails what is pending and stays down. */
  end(reason: string): void {
    this.#over = reason;
    clearTimeout(this.#giveUp);
    this.#failAll(reason);
    this.#socket?.destroy();
  }
}

const lineOf = ({ id, method, params, isSent }: Pending): string =>
  `${JSON.stringify({ jsonrpc: '2.0', id, method, params, ...(isSent && { again: true }) })}\n`;

/** How much longer a line is when it is sent again. */
const againBytes = ',"again":true'.length;

/** The server cannot say which call a line beyond its limit belongs to: such a call would never end. */
const isTooLong = (line: string): boolean =>
  line.length > relayLineBytes / 4 && Buffer.byteLength(line) - 1 + againBytes > relayLineBytes;

const gone = (message: string): RelayError => new RelayError({ code: -32000, message });
