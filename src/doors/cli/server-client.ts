import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { text as textOf, buffer as bufferOf } from 'node:stream/consumers';
import type { Detail } from '../../schema/index.ts';
import { parseExactly, roundLongIntegers } from '../../schema/json.ts';
import { CommandFailure } from './failure.ts';
import type { ServerAddress } from './find-server.ts';
import { oneLine } from './output.ts';

export interface RequestOptions {
  body?: unknown;
  /** Raw bytes instead of JSON. */
  bytes?: Uint8Array;
  contentType?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export type Answer =
  { ok: true; value: unknown } | { ok: false; error: { code: string; message: string; retryable: boolean } };

/** Told once, when the server has not answered for a while and does not even say that it is well. */
interface Silence {
  afterMs: number;
  onSilence(url: string): void;
}

/** The HTTP side of every command. A refusal becomes a CommandFailure with the server's own words. */
export class ServerClient {
  readonly #address: ServerAddress;
  readonly #notThere: () => CommandFailure;
  /** Ends every request that brings no signal of its own. */
  readonly #signal: AbortSignal | undefined;
  #silence: Silence | undefined;
  constructor(address: ServerAddress, notThere: () => CommandFailure, signal?: AbortSignal, silence?: Silence) {
    this.#address = address;
    this.#notThere = notThere;
    this.#signal = signal;
    this.#silence = silence;
  }

  get url(): string {
    return this.#address.url;
  }

  /** The parsed JSON answer. */
  async json<T>(
    method: string,
    path: string,
    options: RequestOptions = {},
    read: (text: string) => unknown = JSON.parse,
  ): Promise<T> {
    const response = await this.open(method, path, options);
    const text = await textOf(response);
    try {
      return (text === '' ? undefined : read(text)) as T;
    } catch {
      throw this.#notOurs(response.statusCode ?? 0, text);
    }
  }

  async bytes(method: string, path: string, options: RequestOptions = {}): Promise<Uint8Array> {
    return bufferOf(await this.open(method, path, options));
  }

  /** Calls a tool by its name and answers what happened, good or bad; integers are to be shown as they are written. */
  outcome(tool: string, args: Record<string, unknown>, signal?: AbortSignal): Promise<Answer> {
    const path = `/call/${encodeURIComponent(tool)}`;
    return this.json<Answer>('POST', path, { body: { args }, signal }, parseExactly);
  }

  /** Calls a tool by its name; a failure of the tool is a failure of the command. */
  async call<T>(tool: string, args: Record<string, unknown> = {}, signal?: AbortSignal): Promise<T> {
    const answer = await this.outcome(tool, args, signal);
    if (!answer.ok) throw new CommandFailure(answer.error.code, answer.error.message);
    return roundLongIntegers(answer.value) as T;
  }

  /** Sends a request and answers the response with its body still to be read; anything but 2xx is thrown. */
  async open(method: string, path: string, options: RequestOptions = {}): Promise<IncomingMessage> {
    const response = await this.#send(method, path, options);
    const status = response.statusCode ?? 0;
    if (status >= 200 && status < 300) return response;
    const text = await textOf(response);
    throw refusalIn(text) ?? this.#notOurs(status, text);
  }

  #send(method: string, path: string, options: RequestOptions): Promise<IncomingMessage> {
    const target = new URL(this.#address.url);
    const body = options.bytes ?? (options.body === undefined ? undefined : JSON.stringify(options.body));
    const headers: Record<string, string> = { authorization: `Bearer ${this.#address.token}`, ...options.headers };
    if (this.#address.proof) headers['x-oubliette-cli'] = this.#address.proof;
    if (body !== undefined) {
      headers['content-type'] = options.contentType ?? 'application/json';
      headers['content-length'] = String(Buffer.byteLength(body));
    }
    return new Promise((resolve, reject) => {
      const send = target.protocol === 'https:' ? httpsRequest : httpRequest;
      // As a path of its own, or `..` for the name of a tool would lead elsewhere.
      const whole = target.pathname.replace(/\/+$/, '') + path;
      const request = send(target, { path: whole, method, headers, signal: options.signal ?? this.#signal }, resolve);
      const waiting = this.#silence && setTimeout(() => this.#lookForLife(), this.#silence.afterMs).unref();
      request.on('response', () => clearTimeout(waiting)).on('close', () => clearTimeout(waiting));
      request.on('error', (error: NodeJS.ErrnoException) =>
        reject(this.#translate(error, Number(headers['content-length'] ?? 0))),
      );
      request.end(body);
    });
  }

  /** A tool may take its time; a server that hangs does not answer anything. */
  #lookForLife(): void {
    const target = new URL(this.#address.url);
    const send = target.protocol === 'https:' ? httpsRequest : httpRequest;
    const path = `${target.pathname.replace(/\/+$/, '')}/health`;
    const request = send(target, { path, signal: AbortSignal.timeout(3000) }, (response) => response.resume());
    request.on('error', () => {
      this.#silence?.onSilence(this.#address.url);
      this.#silence = undefined;
    });
    request.end();
  }

  #notOurs(status: number, text: string): CommandFailure {
    const said = oneLine(text, 80);
    return new CommandFailure(
      'source.unreachable',
      `What answers at ${this.#address.url} is no Oubliette server (status ${status}${said && `: ${said}`}). Check OUBLIETTE_URL.`,
    );
  }

  #translate(error: NodeJS.ErrnoException, sentBytes: number): Error {
    if (error.name === 'AbortError') return error;
    if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') return this.#notThere();
    // A body that is too large is refused before it was read, and the refusal may be lost with the connection.
    if (sentBytes > 2 ** 20 && (error.code === 'EPIPE' || error.code === 'ECONNRESET'))
      return new CommandFailure(
        'body.too_large',
        `The server refused ${sentBytes} bytes. It takes as many as http.maxBodyBytes in config.yaml says.`,
      );
    if (error.code === 'EPROTO')
      return new CommandFailure(
        'source.unreachable',
        `${this.#address.url} does not speak https. Write OUBLIETTE_URL with http://`,
      );
    return new CommandFailure('source.unreachable', `${this.#address.url} cannot be reached: ${error.message}`);
  }
}

function refusalIn(text: string): CommandFailure | undefined {
  try {
    const { error } = JSON.parse(text) as { error: { code: string; message: string; details?: Detail[] } };
    if (typeof error?.message === 'string') return new CommandFailure(error.code, error.message, error.details ?? []);
  } catch {
    // Not one of our answers.
  }
  return undefined;
}
