import type { Call, ClientBehind, ToolResult } from '../../schema/index.ts';
import { ActiveCalls, type ActiveCall } from './active-calls.ts';
import type { Connection } from './connection.ts';
import type { Definition } from './definitions.ts';
import { foreignResult, refusedResult, type KeepBlob } from './foreign-result.ts';
import { LentRoots } from './lent-roots.ts';
import type { Link } from './link.ts';
import { headersFor, mirroredParams } from './param-headers.ts';
import { askWithRounds } from './rounds.ts';
import { Turnstile } from './turnstile.ts';
import { isNetworkError, RpcError, WireTimeout, type RequestOptions } from './wire.ts';

export interface UpstreamCallsDeps {
  connection: Connection;
  /** How many calls may run at once. */
  maxConcurrent: number;
  definition(upstreamName: string): Definition | undefined;
  keepBlob?: KeepBlob;
  /** Those of the same server under an earlier configuration. */
  roots?: LentRoots;
}

export interface AskOptions {
  /** For whom. */
  principal: string;
  signal?: AbortSignal;
  /** For what the server logs meanwhile. */
  onLog?: Call['relayLog'];
  onClientRequest?: (method: string, params: unknown) => Promise<unknown>;
  client?: ClientBehind;
}

/** What is asked of an upstream server, and what it asks back meanwhile. */
export class UpstreamCalls {
  readonly active = new ActiveCalls();
  readonly roots: LentRoots;
  readonly #deps: UpstreamCallsDeps;
  readonly #connection: Connection;
  readonly #turnstile: Turnstile;

  constructor(deps: UpstreamCallsDeps) {
    this.#deps = deps;
    this.#connection = deps.connection;
    this.roots = deps.roots ?? new LentRoots();
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
        // The call may have been cancelled while it waited.
        if (isWaiting) call.signal.throwIfAborted();
        this.active.add(call);
        try {
          return this.#result(await this.#request(link, upstreamName, args, call), call);
        } catch (error) {
          if (error instanceof RpcError && !(mayRepeat && link.hasForgotten(error))) return refusedResult(error);
          this.#noticeEnd(call, error);
          // A server that has forgotten our session has not done anything yet.
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
    const options: RequestOptions = { timeoutMs: this.#connection.timeoutMs, call, waiting: this.active };
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
    { principal, signal, onLog, onClientRequest, client }: AskOptions,
  ): Promise<Record<string, unknown>> {
    const link = await this.#connection.ready();
    const askClient = async (asked: string, details: unknown): Promise<unknown> => {
      if (!onClientRequest) throw new RpcError(-32601, 'nobody is there to ask');
      return onClientRequest(asked, details);
    };
    const asker = { actor: { principal }, askClient, client, ...(onLog && { relayLog: onLog }) };
    this.active.add(asker);
    try {
      signal?.throwIfAborted();
      const options = { timeoutMs: this.#connection.timeoutMs, call: { signal }, waiting: this.active };
      return await askWithRounds(link, method, params, options, asker);
    } catch (error) {
      this.#noticeEnd(asker, error);
      this.#noticeHttp(link, error);
      if (error instanceof RpcError) throw error;
      throw this.#connection.failure(error, method);
    } finally {
      this.active.delete(asker);
    }
  }

  /** What an older server asks while it works; what this throws is the error that it reads. */
  async answer(method: string, params: Record<string, unknown>, signal: AbortSignal): Promise<unknown> {
    const call = this.active.certain();
    if (call) return this.active.ask(call, method, params, signal);
    if (method === 'roots/list') return this.roots.answer();
    throw new RpcError(-32601, `${method} cannot be answered: it is not certain whose call this belongs to`);
  }

  /** We stopped waiting; the server may still be working on it. */
  #noticeEnd(call: ActiveCall, error: unknown): void {
    if (error instanceof WireTimeout || (error as Error).name === 'AbortError') this.active.giveUp(call);
  }

  /** Over HTTP nobody tells us that a server is gone: a failed request does. True when it has forgotten our session. */
  #noticeHttp(link: Link, error: unknown): boolean {
    if (!link.hasForgotten(error)) {
      if (!link.isHttp || !isNetworkError(error)) return false;
      this.#connection.lost(link, error as Error);
      link.retire();
      return false;
    }
    this.#connection.lost(link, new Error('the server has forgotten our session'), false);
    void link.close().catch(() => {});
    return true;
  }
}
