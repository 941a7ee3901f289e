import { fail } from '../schema/index.ts';
import { treeLimits } from './limits.ts';
import type { SessionPorts } from './ports.ts';

export interface Spent {
  input_tokens: number;
  output_tokens: number;
  cost_usd: number;
}

/** Money set aside for one request to a model. */
export interface Reservation {
  /** Replaces what was set aside by what was spent, and writes a `usage` event. Only the first call counts. */
  settle(spent: Spent): Promise<void>;
}

/**
 * Sets money aside before a request: of two that ask at once only one gets the last dollar. Throws limit.cost when
 * the session's tree has not enough left, session.not_found when the session is gone.
 */
export async function reserve(ports: SessionPorts, sessionId: string, estimateUsd: number): Promise<Reservation> {
  const row = await ports.tables.get(sessionId);
  const project = row && (await ports.projects.load(row.project_id));
  if (!row || !project) throw fail('session.not_found', { ref: sessionId });
  const root = await ports.tables.get(row.root_id);
  const limit = treeLimits(root && (await ports.projects.load(root.project_id)), project).cost_usd;
  await ports.log.write(() => {
    const used = ports.tables.treeNow(row.root_id);
    const left = limit - used.cost_usd - used.reserved_usd;
    if (left <= 0 && (estimateUsd > 0 || used.cost_usd > 0)) throw fail('limit.cost', { limit });
    if (estimateUsd > left)
      throw fail('limit.cost', {
        message: `Of the budget of ${limit} USD ${dollars(Math.max(0, left))} are left; this request could cost ${dollars(estimateUsd)}. Ask for fewer output tokens.`,
      });
    ports.tables.meter(sessionId, { reserved_usd: estimateUsd });
  });
  let isSettled = false;
  return {
    async settle(spent) {
      if (isSettled) return;
      isSettled = true;
      await ports.log.write((tx) => {
        const now = ports.tables.getNow(sessionId);
        if (!now) return;
        ports.tables.meter(sessionId, { ...spent, reserved_usd: -estimateUsd });
        tx.append(sessionId, now.turn, { type: 'usage', ...spent });
      });
    },
  };
}

const dollars = (usd: number): string => `${usd.toFixed(4)} USD`;
