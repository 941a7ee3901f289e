import { fail, Failure } from '../../schema/index.ts';
import { AskedToWait, secondsOf } from './asked-to-wait.ts';
import { RpcError, WireClosed, WireTimeout } from './wire.ts';

/** Who was asked for what, and how to tell a reason of theirs. */
export interface Asked {
  /** The server. */
  what: string;
  tool: string;
  timeoutMs: number;
  tell(error: Error): string;
}

/** What went wrong with a server, by one of our names. */
export function upstreamFailure(error: unknown, { what, tool, timeoutMs, tell }: Asked): Failure {
  if (error instanceof Failure) return error;
  const { message, name } = error as Error;
  if (error instanceof RpcError) return fail('tool.failed', { reason: message }, { cause: error });
  if (error instanceof WireTimeout) return fail('tool.timeout', { tool, timeoutMs });
  if (name === 'AbortError') return fail('tool.cancelled', { tool });
  if (error instanceof AskedToWait)
    return fail('source.busy', { what, seconds: secondsOf(error.waitMs) }, { cause: error });
  const reason = error instanceof WireClosed ? `it ended while ${tool} was running` : tell(error as Error);
  return fail('source.unreachable', { what, reason }, { cause: error });
}

/** What went wrong on a connection, in words for people. It may still be long, and hold what the server was told. */
export function reasonOf(error: Error): string {
  if (error.name === 'ZodError' || error instanceof SyntaxError) return 'its answer is no JSON-RPC message';
  const { status, text } = ((error as { data?: unknown }).data ?? {}) as { status?: unknown; text?: unknown };
  if (typeof status !== 'number' || !error.message.startsWith('Error POSTing to endpoint')) return error.message;
  const words = error.message.replace(/^Error POSTing to endpoint: /, '');
  const isPage = typeof text === 'string' && /^\s*</.test(text);
  return words === '' || isPage ? `it answered ${status}` : `it answered ${status}: ${words}`;
}
