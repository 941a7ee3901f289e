import type { CallerTool } from './event.ts';

/** The socket in the folder that is mounted at `/mcp`: JSON-RPC 2.0, one object per line. */
export const relaySocketName = 'relay.sock';
export const relayLineBytes = 16 * 1024 * 1024;

/**
 * Ids of this form are unique for as long as a session lives, so that a call which is sent again over a new
 * connection can be matched to the one that is still open. Shorter ids count within their connection alone.
 */
export const isLastingId = (id: unknown): id is string =>
  typeof id === 'string' && /^call_[A-Za-z0-9_-]{22,64}$/.test(id);

export type RpcId = string | number | null;

export interface RpcError {
  code: number;
  message: string;
  data?: { code: string };
}

/** What the server tells each client when it connects, and whenever it changes. */
export interface CallerToolsConfig {
  caller_id: string;
  tools: CallerTool[];
  /** How long a client waits for a server that went away before it fails what is pending. */
  reconnect_grace_ms: number;
}

export const callerToolsConfig = 'caller_tools_config';
/** The session is over: nobody will answer on this socket again. */
export const sessionOver = 'session_over';
