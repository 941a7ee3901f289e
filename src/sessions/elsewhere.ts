import { fail } from '../schema/index.ts';
import type { SessionRow } from '../store/index.ts';
import { isLive } from './admission.ts';
import { isNodeAlive } from './node-identity.ts';
import type { SessionPorts } from './ports.ts';

const lookEveryMs = 100;
const endWithinMs = 30_000;

/** True for a session that another living process runs. */
export const isElsewhere = (ports: SessionPorts, row: SessionRow): boolean =>
  row.node !== ports.node && isNodeAlive(row.node);

/** Ends a session of another living process: it does what the row wants, we wait until it is done. */
export async function endElsewhere(ports: SessionPorts, row: SessionRow): Promise<void> {
  await ports.log.write(() => ports.tables.update(row.id, { wanted: 'end' }));
  for (let waited = 0; waited < endWithinMs; waited += lookEveryMs) {
    const now = await ports.tables.get(row.id);
    if (!now || !isLive(now)) return;
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
  }
  throw fail('session.state', { ref: row.id, status: row.status, action: 'ending it from this process' });
}
