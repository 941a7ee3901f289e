import type { Call, ClientBehind, ToolResult } from '../../schema/index.ts';
import { ActiveCalls } from './active-calls.ts';
import type { Connection } from './connection.ts';
import type { Definition } from './definitions.ts';
import { foreignResult, refusedResult, type KeepBlob } from './foreign-result.ts';
import { LentRoots } from './lent-roots.ts';
import type { Link } from './link.ts';
import { headersFor, mirroredParams } from './param-headers.ts';
import { askWithRounds } from './rounds.ts';
import { Turnstile } from './turnstile.ts';
import { isNetworkError, RpcError, type RequestOptions } from './wire.ts';

export interface UpstreamCallsDeps {
  connection: Connection;
  /** How many calls may run at once. */
  maxConcurrent: number;
  definition(upstreamName: string): Definition | undefined;
  keepBlob?: KeepBlob;
}

export interface AskOptions {
  signal?: AbortSignal;
  onClientRequest?: (method: string, params: unknown) => Promise<unknown>;
  client?: ClientBehind;
}

/** What is asked of an upstream server, and what it asks back meanwhile. */
export class UpstreamCalls {
  readonly active = new ActiveCalls();
  readonly roots = new LentRoots();
  readonly #deps: UpstreamCallsDeps;
  readonly #connection: Connection;
  readonly #turnstile: Turnstile;

  constructor(deps: UpstreamCallsDeps) {
    this.#deps = deps;
    this.#connection = deps.connection;
    this.#turnstile = new Turnstile(deps.maxConcurrent);
  }

  /** Calls a tool. Throws source.unreachable, tool.timeout, tool.cancelled or tool.failed. */
  async call(upstreamName: string, args: Record<string, unknown>, call: Call): Promise<ToolResult> {
    const turn = this.#turnstile.enter(this.#connection.what);
    if (turn) await turn;
    try {
      for (let mayRepeat = true; ; mayRepeat = false) {
        const isWaiting = turn !== undefined || this.#connection.link === undefined;
        const link = this.#connection.link ?? (await this.#connection.ready());
        // Whoever had to wait may not be wanted any more.
        if (isWaiting) call.signal.throwIfAborted();
        this.active.add(call);
        try {
          return this.#result(await this.#request(link, upstreamName, args, call), call);
        } catch (error) {
          if (error instanceof RpcError) return refusedResult(error);
          // A server that does not know our session any more has done nothing yet.
          if (!this.#noticeHttp(link, error) || !mayRepeat) throw error;
        } finally {
          this.active.delete(call);
        }
      }
    } catch (error) {
      throw this.#connection.failure(error, upstreamName);
    } finally {
      this.#turnstile.leave();
    }
  }

  #result(raw: Record<string, unknown>, call: Call): ToolResult | Promise<ToolResult> {
    if (raw['resultType'] === 'input_required') return { value: null, inputRequired: raw };
    const keep = this.#deps.keepBlob;
    return foreignResult(raw, keep && ((bytes, mimeType) => keep(call.actor.principal, bytes, mimeType)));
  }

  #request(
    link: Link,
    upstreamName: string,
    args: Record<string, unknown>,
    call: Call,
  ): Promise<Record<string, unknown>> {
    const params = { name: upstreamName, arguments: args };
    const options: RequestOptions = { timeoutMs: this.#connection.timeoutMs, call };
    if (link.isHttp && link.era === 'modern') {
      const mirrored = mirroredParams(this.#deps.definition(upstreamName)?.inputSchema);
      if (mirrored.length > 0) options.headers = headersFor(mirrored, args);
    }
    return askWithRounds(link, 'tools/call', params, options, call);
  }

  /** Any other request (prompts, resources, completion), passed on as it is. The server's own error is thrown unchanged. */
  async ask(
    method: string,
    params: Record<string, unknown>,
    { signal, onClientRequest, client }: AskOptions,
  ): Promise<Record<string, unknown>> {
    const link = await this.#connection.ready();
    try {
      const askClient = async (asked: string, details: unknown): Promise<unknown> => {
        if (!onClientRequest) throw new RpcError(-32601, 'nobody is there to ask');
        return onClientRequest(asked, details);
      };
      signal?.throwIfAborted();
      const options = { timeoutMs: this.#connection.timeoutMs, call: { signal } };
      return await askWithRounds(link, method, params, options, { askClient, client });
    } catch (error) {
      if (error instanceof RpcError) throw error;
      this.#noticeHttp(link, error);
      throw this.#connection.failure(error, method);
    }
  }

  /** Follows one resource: older servers by a subscription, newer ones by a stream that stays open. */
  async follow(uri: string): Promise<() => Promise<void>> {
    const link = await this.#connection.ready();
    if (link.era === 'modern') {
      const stream = await link.listen({ resourceSubscriptions: [uri] });
      return async () => stream?.close();
    }
    const { timeoutMs } = this.#connection;
    await link.request('resources/subscribe', { uri }, { timeoutMs });
    return async () => void (await link.request('resources/unsubscribe', { uri }, { timeoutMs }));
  }

  /** What an older server asks while it works; what this throws is the error that it reads. */
  async answer(method: string, params: Record<string, unknown>): Promise<unknown> {
    const call = this.active.certain();
    if (call) return call.askClient(method, params);
    if (method === 'roots/list') return this.roots.answer();
    throw new RpcError(-32601, `${method} cannot be answered: it is not certain whose call this belongs to`);
  }

  /** Over HTTP nobody tells us that a server is gone: a failed request does. True when it has forgotten our session. */
  #noticeHttp(link: Link, error: unknown): boolean {
    const status = link.statusOf(error);
    if (status === undefined) {
      if (link.isHttp && isNetworkError(error)) this.#connection.lost(link, (error as Error).message);
      return false;
    }
    if (status !== 404) return false;
    this.#connection.lost(link, 'the server has forgotten our session', false);
    void link.close().catch(() => {});
    return true;
  }
}
