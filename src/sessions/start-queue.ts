import { availableParallelism } from 'node:os';

/** Starting costs processor time, in the sandbox and in its engine; more at once would not be ready any sooner. */
const defaultAtOnce = Math.max(4, 2 * availableParallelism());
/** An agent that takes this long is waiting for something other than the machine. */
const longestMs = 15_000;

/** Lets a few sandboxes start at a time. Projects take turns, so one that asks for many does not keep others waiting. */
export interface StartQueue {
  /**
   * A place, at once or when it is free, to be given back by calling the answer; undefined when `signal` aborts
   * first. Who comes `last` waits until nobody else does.
   */
  enter(projectId: string, signal: AbortSignal, last?: boolean): Promise<(() => void) | undefined>;
}

interface Waiting {
  admit: () => void;
}

export function startQueue(atOnce = defaultAtOnce, mostMs = longestMs): StartQueue {
  /** By project; the one whose turn it is comes first. */
  const queues = new Map<string, Waiting[]>();
  const last: Waiting[] = [];
  let inside = 0;

  function take(): Waiting | undefined {
    const [front] = queues;
    if (!front) return last.shift();
    const [projectId, queue] = front;
    const next = queue.shift();
    queues.delete(projectId);
    if (queue.length > 0) queues.set(projectId, queue);
    return next;
  }

  function place(): () => void {
    inside++;
    let isGiven = false;
    const give = (): void => {
      if (isGiven) return;
      isGiven = true;
      clearTimeout(late);
      inside--;
      take()?.admit();
    };
    const late = setTimeout(give, mostMs).unref();
    return give;
  }

  return {
    async enter(projectId, signal, isLast = false) {
      if (signal.aborted) return undefined;
      if (inside < atOnce) return place();
      return new Promise((resolve) => {
        const queue = isLast ? last : (queues.get(projectId) ?? []);
        const waiting: Waiting = {
          admit() {
            signal.removeEventListener('abort', giveUp);
            resolve(place());
          },
        };
        const giveUp = (): void => {
          queue.splice(queue.indexOf(waiting), 1);
          if (!isLast && queue.length === 0) queues.delete(projectId);
          resolve(undefined);
        };
        queue.push(waiting);
        if (!isLast) queues.set(projectId, queue);
        signal.addEventListener('abort', giveUp, { once: true });
      });
    },
  };
}
