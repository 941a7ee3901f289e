import { timerMs } from '../schema/index.ts';

/** One timer per ask and reason. They never keep the process alive: what is due is stored, not remembered. */
export interface AskTimers {
  /** Runs once the wall clock has passed `atMs`, never before. */
  set(askId: string, reason: 'deadline' | 'grace', atMs: number, run: () => void): void;
  forget(askId: string): void;
  close(): void;
}

export function askTimers(): AskTimers {
  const timers = new Map<string, NodeJS.Timeout>();
  const drop = (key: string): void => {
    clearTimeout(timers.get(key));
    timers.delete(key);
  };
  return {
    set(askId, reason, atMs, run) {
      const key = `${askId} ${reason}`;
      drop(key);
      // Node may fire up to a millisecond early.
      const timer = setTimeout(
        () => {
          timers.delete(key);
          run();
        },
        timerMs(atMs - Date.now() + 1),
      );
      timer.unref();
      timers.set(key, timer);
    },
    forget(askId) {
      drop(`${askId} deadline`);
      drop(`${askId} grace`);
    },
    close() {
      for (const timer of timers.values()) clearTimeout(timer);
      timers.clear();
    },
  };
}
