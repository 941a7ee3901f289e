import type { CallRecord } from '../schema/index.ts';

/** Calls that differ only in their time and duration, so that they can be counted in one go. */
export interface Run {
  /** The first of them. */
  like: CallRecord;
  lastAt: string;
  durationsMs: number[];
  resultBytes: number;
}

/** Groups identical calls; meant for the few hundred that wait at a time. */
export function runsOf(records: readonly CallRecord[]): Run[] {
  const runs: Run[] = [];
  for (const record of records) {
    const run = runs.find(({ like }) => isAlike(like, record));
    if (run) {
      // A slow call ends after some that began later.
      if (record.at > run.lastAt) run.lastAt = record.at;
      run.durationsMs.push(record.durationMs);
      run.resultBytes += record.resultBytes;
    } else {
      const { at, durationMs, resultBytes } = record;
      runs.push({ like: record, lastAt: at, durationsMs: [durationMs], resultBytes });
    }
  }
  return runs;
}

function isAlike(a: CallRecord, b: CallRecord): boolean {
  return (
    a.toolId === b.toolId &&
    a.name === b.name &&
    a.outcome === b.outcome &&
    a.isDispatched === b.isDispatched &&
    a.door === b.door &&
    a.principal === b.principal &&
    a.tokenId === b.tokenId &&
    a.projectId === b.projectId &&
    (a.parent === undefined) === (b.parent === undefined) &&
    isSameMinute(a.at, b.at)
  );
}

/** Calls of one minute always belong to the same slot of the statistics. */
const isSameMinute = (a: string, b: string): boolean => a === b || a.startsWith(b.slice(0, '2026-01-01T00:00'.length));
