import { SSEClientTransport, SdkHttpError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { ExactAnswers, ServerConfig } from '../../schema/index.ts';
import { heedfulFetch } from './asked-to-wait.ts';
import { boundedFetch } from './bounded-fetch.ts';
import { accessTokens, type AccessTokens } from './oauth.ts';
import type { LinkDeps } from './link.ts';
import { RpcError } from './wire.ts';

type Fetch = typeof globalThis.fetch;
type HttpDeps = Pick<LinkDeps, 'fetchFor' | 'accessToken' | 'onWait'>;

/** How soon a stream that ended is opened again; a server may wish for a pause between these. */
const shortestPauseMs = 250;
const longestPauseMs = 10_000;

/** An SSE server takes a message at once and answers on its stream; one that holds a request longer than this is stuck. */
const longestPostMs = 120_000;

/** Its messages, and those of an SSE server, are to be restored by `exact`. */
export function httpTransport(
  config: ServerConfig,
  deps: HttpDeps,
  exact: ExactAnswers,
): StreamableHTTPClientTransport {
  const url = new URL(config.url ?? '');
  return new StreamableHTTPClientTransport(url, {
    ...httpOptions(url, config, deps, exact),
    reconnectionOptions: {
      initialReconnectionDelay: 500,
      maxReconnectionDelay: longestPauseMs,
      reconnectionDelayGrowFactor: 2,
      maxRetries: 5,
    },
    reconnectionScheduler(reconnect, wishedMs) {
      const timer = setTimeout(reconnect, Math.min(Math.max(wishedMs, shortestPauseMs), longestPauseMs));
      timer.unref();
      return () => clearTimeout(timer);
    },
  });
}

export function sseTransport(config: ServerConfig, deps: HttpDeps, exact: ExactAnswers): SSEClientTransport {
  const url = new URL(config.url ?? '');
  const options = httpOptions(url, config, deps, exact, true);
  const postMs = Math.max(longestPostMs, 2 * (config.timeoutMs ?? 0));
  return new SSEClientTransport(url, { ...options, fetch: endingPosts(options.fetch, postMs) });
}

function httpOptions(
  url: URL,
  { headers = {} }: ServerConfig,
  { fetchFor, accessToken, onWait }: HttpDeps,
  exact: ExactAnswers,
  hasOneStream = false,
): { fetch: Fetch; requestInit: RequestInit; authProvider?: AccessTokens } {
  return {
    fetch: exact.fetch(heedfulFetch(boundedFetch(fetchFor(url.href), undefined, hasOneStream), onWait)),
    requestInit: { headers },
    ...(accessToken && { authProvider: accessTokens(accessToken) }),
  };
}

function endingPosts(fetch: Fetch, ms: number): Fetch {
  return (input, init) => {
    if (init?.method !== 'POST') return fetch(input, init);
    const deadline = AbortSignal.timeout(ms);
    return fetch(input, { ...init, signal: init.signal ? AbortSignal.any([init.signal, deadline]) : deadline });
  };
}

/** The HTTP status behind an error of the SDK's transports; that of SSE tells it only in words. */
export function httpStatus(error: unknown): number | undefined {
  if (error instanceof SdkHttpError) return Number((error.data as { status?: number } | undefined)?.status);
  const said = /^Error POSTing to endpoint \(HTTP (\d{3})\)/.exec((error as Error).message);
  return said ? Number(said[1]) : undefined;
}

/** A forgotten session is a 404, but many older servers call it a bad request. */
export function hasForgotten(error: unknown, era: 'modern' | 'legacy'): boolean {
  if (error instanceof RpcError) return era === 'modern' && isOfOtherEra(error);
  const status = httpStatus(error);
  return status === 404 || (status === 400 && /session|not initialized/i.test((error as Error).message));
}

/** In the place of a server of the 2026 era there is now one that speaks another version, or an older one. */
function isOfOtherEra({ code, message }: RpcError): boolean {
  return code === -32022 || (code === -32000 && /^Bad Request\b.*(session|not initialized)/i.test(message));
}

/** True when the SDK tried often enough to open a stream again that had ended. */
export const hasGivenUpStream = (error: Error): boolean => error.message.startsWith('Maximum reconnection attempts');
