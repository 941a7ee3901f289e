import type { AgentProcessState, SupervisorCommand } from '../schema/index.ts';

/** One record of the spool. `next` is the offset to store once its effects are stored. */
export type SpoolRecord = { offset: number; next: number } & (
  | { kind: 'out' | 'err'; line: string }
  | { kind: 'done'; id: string; error?: string }
  | { kind: 'state'; state: AgentProcessState }
  | { kind: 'lost'; stream: string; bytes: number }
  /** The spool was tampered with or damaged here; reading goes on behind it. */
  | { kind: 'garbled'; reason: string }
);

/** The server's end of one supervisor. Never throws because of what is in the sandbox. */
export interface SupervisorLink {
  /**
   * Records from `from` on, in batches as they come, until `close` or, when `ended()` was called, until the last
   * one is read. Ask for the next batch only after the previous one is stored: that is what acknowledges it.
   */
  records(): AsyncIterable<SpoolRecord[]>;
  /** Sends now or on the next connection, again after each reconnect until the spool says it is done. */
  send(command: SupervisorCommand): void;
  readonly connected: boolean;
  /** When the supervisor was last heard of (ms since the epoch). */
  readonly heardAt: number;
  /** The sandbox is over: read what is left in the spool, then finish. */
  ended(): void;
  close(): Promise<void>;
}

export interface LinkOptions {
  session: string;
  /** Host folder mounted at /mcp; the link listens on control.sock in it. */
  mcp: string;
  /** Host folder mounted at /spool. */
  spool: string;
  /** Offset stored with the last events; 0 for a new session. */
  from: number;
  /** Commands that were sent before and not yet reported as done (kept by the owner of the session). */
  outbox?: SupervisorCommand[];
  /** How much of an agent's output is read per second, in bytes, plus a fixed charge for every record. */
  costPerSecond?: number;
  onConnect?: () => void;
  /** The supervisor speaks no version that we do: the sandbox must be replaced. */
  onIncompatible?: (versions: number[]) => void;
}
