import { isBuiltin } from './program-shape.ts';
import type { TraceFrame } from './protocol.ts';

const insideName = (name: string): string => `__given_${name}__`;

/**
 * Inputs with the names of builtins, such as `id` and `type`. Of these the interpreter would take its own function; only an
 * assignment hides it, so such a program gets one more line in front.
 */
export class ShadowedInputs {
  readonly #names: readonly string[];

  constructor(inputs: object = {}) {
    this.#names = Object.keys(inputs).filter(isBuiltin);
  }

  /** The name under which the interpreter is given an input. */
  nameOf(input: string): string {
    return this.#names.includes(input) ? insideName(input) : input;
  }

  withLine(code: string): string {
    if (this.#names.length === 0) return code;
    return `${this.#names.join(', ')} = ${this.#names.map(insideName).join(', ')}\n${code}`;
  }

  /** Lines of the code without the one in front. */
  withoutLine(frames: readonly TraceFrame[]): readonly TraceFrame[] {
    return this.#names.length === 0 ? frames : frames.map((frame) => ({ ...frame, line: frame.line - 1 }));
  }
}
