import { hash } from 'node:crypto';
import type { Door } from './actor.ts';
import type { ErrorCode } from './errors.ts';
import type { Level } from './level.ts';

/** One call that passed the gate, or was refused there: feeds usage, stats, audit, metrics and the log. */
export interface CallRecord {
  requestId: string;
  parent?: string | undefined;
  at: string;
  durationMs: number;
  /** `demo_foo`, and `demo.foo` as code mode says it. */
  name: string;
  pack: string;
  toolId: string;
  bundleSlug: string;
  level: Level;
  door: Door;
  principal: string;
  tokenId?: string | undefined;
  projectId?: string | undefined;
  sessionId?: string | undefined;
  outcome: 'ok' | ErrorCode;
  /** False for what the gate refused: it is audited, but counts in no usage and no statistics. */
  isDispatched: boolean;
  argsBytes: number;
  resultBytes: number;
  /** SHA-256 of the arguments, in hex: they leave the gate only so, and are kept only as a keyed hash of it. */
  argsDigest(): string;
}

const longestHeld = 1024;

/** Computes the digest when calls are written down, many in a row; for long arguments at once, so that nothing retains them. */
export function digestLater(argsText: string): CallRecord['argsDigest'] {
  return argsText.length > longestHeld ? constant(hash('sha256', argsText)) : () => hash('sha256', argsText);
}

const constant = (digest: string) => (): string => digest;
