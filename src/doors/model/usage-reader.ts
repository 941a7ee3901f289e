import type { Counted, ProviderShape } from './shapes.ts';

const maxHeld = 8 * 1024 * 1024;

/** Watches an answer pass by and remembers what it says about tokens; garbage is ignored, memory is bounded. */
export class UsageReader {
  readonly #shape: ProviderShape;
  readonly #isStream: boolean;
  readonly #decoder = new TextDecoder();
  #held = '';
  #isLost = false;
  #counted: Counted = {};
  bytes = 0;

  constructor(shape: ProviderShape, isStream: boolean) {
    this.#shape = shape;
    this.#isStream = isStream;
  }

  push(chunk: Uint8Array): void {
    this.bytes += chunk.length;
    if (this.#isLost) return;
    this.#held += this.#decoder.decode(chunk, { stream: true });
    if (this.#isStream) this.#lines();
    if (this.#held.length > maxHeld) {
      this.#isLost = true;
      this.#held = '';
    }
  }

  /** What was counted, once everything has passed. */
  end(): Counted {
    if (this.#isStream) this.#line(this.#held);
    else if (!this.#isLost) this.#take(this.#held);
    this.#held = '';
    return this.#counted;
  }

  #lines(): void {
    const lines = this.#held.split('\n');
    this.#held = lines.pop()!;
    for (const line of lines) this.#line(line);
  }

  #line(line: string): void {
    const data = /^data:\s?(.*?)\r?$/.exec(line)?.[1];
    if (data?.startsWith('{')) this.#take(data);
  }

  /** Later events replace earlier counts: streams report running totals. */
  #take(json: string): void {
    try {
      const value: unknown = JSON.parse(json);
      for (const each of Array.isArray(value) ? value : [value])
        if (typeof each === 'object' && each !== null)
          this.#counted = { ...this.#counted, ...this.#shape.count(each as Record<string, unknown>) };
    } catch {
      // No JSON: nothing to count here.
    }
  }
}
