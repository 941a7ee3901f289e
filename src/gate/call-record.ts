import { performance } from 'node:perf_hooks';
import type { Observer } from '../observe/index.ts';
import {
  callName,
  digestLater,
  isObject,
  isoNow,
  type Actor,
  type CallOptions,
  type CallRecord,
  type ToolView,
} from '../schema/index.ts';

export interface Begun {
  args: unknown;
  /** A promise where the call must be on disk before it is answered; reads are written behind. */
  record(outcome: CallRecord['outcome'], resultBytes: number, isDispatched: boolean): Promise<void> | undefined;
}

/** Begins the record of a call: what is known of it now, and how it ends later. */
export function beginRecord(
  observe: Observer,
  actor: Actor,
  tool: ToolView,
  args: unknown,
  requestId: string,
  options: CallOptions,
): Begun {
  const startedAt = performance.now();
  const at = isoNow();
  const argsText = JSON.stringify(args) ?? '';
  return {
    args,
    record: (outcome, resultBytes, isDispatched) => {
      const { door, principal, tokenId, sessionId } = actor;
      const written = observe.record({
        requestId,
        parent: options.parent,
        at,
        durationMs: performance.now() - startedAt,
        name: tool.name,
        pack: callName(tool),
        toolId: tool.id,
        bundleSlug: tool.bundleSlug,
        level: tool.level,
        door,
        principal,
        tokenId,
        sessionId,
        projectId: projectOf(actor, args),
        outcome,
        isDispatched,
        argsBytes: Buffer.byteLength(argsText),
        resultBytes,
        argsDigest: digestLater(argsText),
      });
      return tool.level === 'read' ? undefined : written;
    },
  };
}

function projectOf(actor: Actor, args: unknown): string | undefined {
  const named = isObject(args) ? args['project_id'] : undefined;
  return typeof named === 'string' && likeId.test(named) ? named : actor.projectId;
}

/** Anything else is not one of our project ids and must not get into the records. */
const likeId = /^[\w-]{1,64}$/;
