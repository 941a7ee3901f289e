import { fail } from '../schema/index.ts';

const minuteMs = 60_000;
const lookAt = 1000;

/** At most so many calls of one tool in any sixty seconds. */
export class RateLimit {
  readonly #calls = new Map<string, number[]>();
  /** At so many tools those that nobody called lately are forgotten: most of them are gone. */
  #lookAt = lookAt;

  get size(): number {
    return this.#calls.size;
  }

  /** Counts a call; throws rate.limited with the seconds to wait when there are too many. `now` by a clock that nobody sets. */
  take(toolId: string, toolName: string, maxPerMinute: number, now = performance.now()): void {
    const recent = (this.#calls.get(toolId) ?? []).filter((at) => at > now - minuteMs);
    this.#calls.set(toolId, recent);
    if (recent.length >= maxPerMinute) {
      const seconds = Math.max(1, Math.ceil((recent[0]! + minuteMs - now) / 1000));
      throw fail('rate.limited', { tool: toolName, limit: maxPerMinute, seconds });
    }
    recent.push(now);
    if (this.#calls.size >= this.#lookAt) this.#forgetQuiet(now);
  }

  #forgetQuiet(now: number): void {
    for (const [toolId, calls] of this.#calls) if ((calls.at(-1) ?? 0) <= now - minuteMs) this.#calls.delete(toolId);
    this.#lookAt = Math.max(lookAt, this.#calls.size * 2);
  }
}
