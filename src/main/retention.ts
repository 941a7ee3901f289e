import type { Gate } from '../gate/index.ts';
import type { Logger } from '../observe/index.ts';
import type { Actor, Settings } from '../schema/index.ts';

const dayMs = 24 * 3600_000;
/** Nobody asks: the configuration does. */
const caretaker: Actor = { kind: 'local', door: 'cli', principal: 'local', level: 'admin' };

/** Lets go of what is older than `retention` allows, now and once a day; answers how to end that. */
export function keepRetention(gate: Gate, settings: () => Settings, log: Logger): () => void {
  const letGo = async (tool: string, args: object): Promise<void> => {
    try {
      const outcome = await gate.call(caretaker, tool, args);
      if (!outcome.ok) throw new Error(outcome.error.message);
    } catch (error) {
      log.warn(
        { span: 'server.retention', tool, err: error },
        'what is older than retention allows could not be removed',
      );
    }
  };
  const look = async (): Promise<void> => {
    const { auditDays, sessionDays } = settings().retention;
    if (sessionDays !== undefined) await letGo('session_cleanup', { max_age_hours: sessionDays * 24 });
    if (auditDays !== undefined) await letGo('audit_prune', { older_than_days: auditDays });
  };
  void look();
  const timer = setInterval(() => void look(), dayMs);
  timer.unref();
  return () => clearInterval(timer);
}
