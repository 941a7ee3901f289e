import { availableParallelism } from 'node:os';
import { Child, type Watchers } from './child-process.ts';

export interface PoolOptions extends Watchers {
  childPath: string;
  /** Children that one owner may keep busy, and that are kept warm. */
  size?: number;
  /** Asked for every new child. */
  maxMemoryMb: () => number;
}

interface Waiting {
  owner: string;
  resolve(child: Child): void;
  reject(error: unknown): void;
}

const idleMs = 30_000;
/** What node and the interpreter need before any program runs, with room for the values that cross. */
const baseMb = 160;

/**
 * Children shared fairly: an owner keeps at most `size` busy; whoever has none busy gets one at once, also when
 * that means one more child. So endless programs of one owner cannot hold up another.
 */
export class ChildPool {
  readonly #options: PoolOptions;
  readonly #size: number;
  readonly #most: number;
  readonly #idle: { child: Child; since: number }[] = [];
  readonly #busy = new Map<Child, string>();
  readonly #waiting: Waiting[] = [];
  #sweep: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#size = options.size ?? Math.min(4, Math.max(2, availableParallelism()));
    this.#most = this.#size + 16;
  }

  /** Starts the first child before anyone asks for it. */
  warm(): void {
    if (this.#idle.length + this.#busy.size === 0) this.#rest(this.#spawn());
  }

  get hasWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** A child at once, or undefined when the owner has to wait for one. */
  take(owner: string): Child | undefined {
    return this.#available(owner);
  }

  async acquire(owner: string, signal: AbortSignal): Promise<Child> {
    signal.throwIfAborted();
    const child = this.#available(owner);
    if (child) return child;
    return new Promise((resolve, reject) => {
      const entry: Waiting = { owner, resolve, reject };
      const leave = (): void => {
        const at = this.#waiting.indexOf(entry);
        if (at >= 0) this.#waiting.splice(at, 1);
        reject(signal.reason);
      };
      signal.addEventListener('abort', leave, { once: true });
      entry.resolve = (found) => {
        signal.removeEventListener('abort', leave);
        resolve(found);
      };
      this.#waiting.push(entry);
    });
  }

  /** Gives a child back; one that is dead or was slow is not used again. */
  release(child: Child): void {
    this.#busy.delete(child);
    if (this.#isClosed || child.isSlow) child.kill('cancelled');
    if (!child.isDead) this.#rest(child);
    this.#serve();
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#sweep);
    for (const { child } of this.#idle.splice(0)) child.kill('cancelled');
    for (const child of this.#busy.keys()) child.kill('cancelled');
    for (const entry of this.#waiting.splice(0)) entry.reject(new Error('the engine is closed'));
  }

  #available(owner: string): Child | undefined {
    let running = 0;
    for (const each of this.#busy.values()) if (each === owner) running++;
    if (running >= this.#size) return undefined;
    let child: Child | undefined;
    while (!child && this.#idle.length > 0) {
      const next = this.#idle.pop()!.child;
      if (!next.isDead) child = next;
    }
    const isBelow = this.#busy.size < (running === 0 ? this.#most : this.#size);
    child ??= isBelow ? this.#spawn() : undefined;
    if (!child) return undefined;
    child.setIdle(false);
    this.#busy.set(child, owner);
    return child;
  }

  /** Hands children to those who wait, oldest first, passing over owners that have their share. */
  #serve(): void {
    for (let i = 0; i < this.#waiting.length;) {
      const entry = this.#waiting[i]!;
      const child = this.#available(entry.owner);
      if (!child) {
        i++;
        continue;
      }
      this.#waiting.splice(i, 1);
      entry.resolve(child);
    }
  }

  #spawn(): Child {
    const { childPath, onAsked, onAnswered } = this.#options;
    const maxMemoryMb = this.#options.maxMemoryMb();
    return new Child(childPath, {
      heapMb: 64 + maxMemoryMb * 3,
      maxResidentBytes: (baseMb + maxMemoryMb * 3) * 1024 * 1024,
      onAsked,
      onAnswered,
    });
  }

  #rest(child: Child): void {
    child.setIdle(true);
    this.#idle.push({ child, since: performance.now() });
    this.#sweep ??= setInterval(() => this.#retire(), idleMs / 3).unref();
  }

  #retire(): void {
    const now = performance.now();
    while (this.#idle.length > 1 && now - this.#idle[0]!.since > idleMs) this.#idle.shift()!.child.kill('cancelled');
  }
}
