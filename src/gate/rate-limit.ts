import { fail } from '../schema/index.ts';

const minuteMs = 60_000;
const lookAt = 1000;

/** The times of a tool's recent calls, oldest first; those before `from` no longer count. */
interface Recent {
  times: number[];
  from: number;
}

/** At most so many calls of one tool in any sixty seconds. */
export class RateLimit {
  readonly #calls = new Map<string, Recent>();
  /** From this many tools on, those without recent calls are forgotten; most of them no longer exist. */
  #lookAt = lookAt;

  get size(): number {
    return this.#calls.size;
  }

  /** Counts a call; throws rate.limited with the seconds to wait when there are too many. `now` is on the monotonic clock. */
  take(toolId: string, toolName: string, maxPerMinute: number, now = performance.now()): void {
    let recent = this.#calls.get(toolId);
    if (!recent) this.#calls.set(toolId, (recent = { times: [], from: 0 }));
    const { times } = recent;
    while (recent.from < times.length && times[recent.from]! <= now - minuteMs) recent.from++;
    if (times.length - recent.from >= maxPerMinute) {
      const seconds = Math.max(1, Math.ceil((times[recent.from]! + minuteMs - now) / 1000));
      throw fail('rate.limited', { tool: toolName, limit: maxPerMinute, seconds });
    }
    // Rarely, and only when most of them no longer count, so that each time is moved at most once.
    if (recent.from * 2 > times.length) {
      times.splice(0, recent.from);
      recent.from = 0;
    }
    times.push(now);
    if (this.#calls.size >= this.#lookAt) this.#forgetQuiet(now);
  }

  #forgetQuiet(now: number): void {
    for (const [toolId, { times }] of this.#calls)
      if ((times.at(-1) ?? 0) <= now - minuteMs) this.#calls.delete(toolId);
    this.#lookAt = Math.max(lookAt, this.#calls.size * 2);
  }
}
