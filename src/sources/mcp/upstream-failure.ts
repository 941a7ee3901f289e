import { fail, Failure } from '../../schema/index.ts';
import { RpcError, WireClosed, WireTimeout } from './wire.ts';

/** What went wrong with a server, by one of our names: `what` is the server, `tool` what was asked of it. */
export function upstreamFailure(error: unknown, what: string, tool: string, timeoutMs: number): Failure {
  if (error instanceof Failure) return error;
  const { message, name } = error as Error;
  if (error instanceof RpcError) return fail('tool.failed', { reason: message }, { cause: error });
  if (error instanceof WireTimeout) return fail('tool.timeout', { tool, timeoutMs });
  if (name === 'AbortError') return fail('tool.cancelled', { tool });
  const reason = error instanceof WireClosed ? `it ended while ${tool} was running` : message;
  return fail('source.unreachable', { what, reason }, { cause: error });
}
