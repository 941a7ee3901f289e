import { execFile } from 'node:child_process';

const shortestPauseMs = 5_000;
/** Measuring may take at most this part of the time. */
const dutyShare = 20;

export interface DiskGuard {
  /** Watches what a sandbox may write to; calls `onFull` once when it has grown by more than `maxMb`. */
  watch(id: string, folders: string[], maxMb: number, onFull: () => void): void;
  unwatch(id: string): void;
  close(): void;
}

/** Bind-mounted folders have no quota of their own: measured in another process, as often as their size allows. */
export function diskGuard(pauseMs = shortestPauseMs): DiskGuard {
  const timers = new Map<string, NodeJS.Timeout>();
  const stop = (id: string): void => {
    clearTimeout(timers.get(id));
    timers.delete(id);
  };
  return {
    watch(id, folders, maxMb, onFull) {
      if (timers.has(id)) return;
      let before: number | undefined;
      const look = async (): Promise<void> => {
        const started = performance.now();
        const size = await sizeMb(folders);
        if (!timers.has(id)) return;
        before ??= size;
        if (size - before > maxMb) {
          stop(id);
          return onFull();
        }
        schedule(Math.max(pauseMs, (performance.now() - started) * dutyShare));
      };
      const schedule = (inMs: number): void => void timers.set(id, setTimeout(() => void look(), inMs).unref());
      schedule(0);
    },
    unwatch: stop,
    close: () => [...timers.keys()].forEach(stop),
  };
}

/** Allocated space in MiB; 0 when it cannot be measured. */
function sizeMb(folders: string[]): Promise<number> {
  return new Promise((resolve) => {
    // Its exit code is 1 when a file vanishes meanwhile; the sum is printed all the same.
    execFile('du', ['-smcx', '--', ...folders], { maxBuffer: 64 * 1024 }, (_error, stdout) => {
      resolve(Number(/^(\d+)\s+total$/m.exec(stdout)?.[1] ?? 0));
    });
  });
}
