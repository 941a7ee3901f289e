import type { Native } from './monty.ts';

const mostPrograms = 64;
const mostLength = 16 * 1024;
const mostLengthInAll = 128 * 1024;

/**
 * Programs that were parsed before, by their text and the names of their inputs; the ones used last stay. They hold nothing but what the text says:
 * every run of one starts with empty variables.
 */
export class CompiledPrograms {
  readonly #native: Native;
  readonly #kept = new Map<string, unknown>();
  #length = 0;

  constructor(native: Native) {
    this.#native = native;
  }

  /** The program, or the exception that says what is wrong with its text. */
  compile(code: string, inputs: readonly string[]): unknown {
    // No program holds the character that separates them.
    const key = inputs.length === 0 ? code : `${inputs.join('\0')}\0\0${code}`;
    const found = this.#kept.get(key);
    if (found !== undefined) {
      this.#kept.delete(key);
      this.#kept.set(key, found);
      return found;
    }
    const parsed = this.#parse(code, inputs);
    if (key.length <= mostLength && !(parsed instanceof this.#native.MontyException)) this.#keep(key, parsed);
    return parsed;
  }

  #parse(code: string, inputs: readonly string[]): unknown {
    return this.#native.Monty.create(code, {
      scriptName: 'program.py',
      ...(inputs.length > 0 ? { inputs: [...inputs] } : {}),
    });
  }

  #keep(key: string, parsed: unknown): void {
    this.#kept.set(key, parsed);
    this.#length += key.length;
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= mostPrograms && this.#length <= mostLengthInAll) break;
      this.#kept.delete(oldest);
      this.#length -= oldest.length;
    }
  }
}
