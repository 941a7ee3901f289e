import { isSameCall, type MadeCall } from './made-call.ts';

/** This often is no coincidence. */
const enoughTimes = 2;
const mostLength = 8 * 1024;

/**
 * Which call a program's text has led to first. Until then nothing has come in from outside: with the same text and the same
 * meaning of its names it is the same call again, whoever runs it.
 */
export class FirstCall {
  #call: MadeCall | undefined;
  #names = '';
  #times = 0;
  #isReliable = true;

  /** The call to expect; undefined as long as it is not certain. */
  expected(names: string): MadeCall | undefined {
    return this.#isReliable && this.#times >= enoughTimes && names === this.#names ? this.#call : undefined;
  }

  seen({ pack, name, args, kwargs }: MadeCall, names: string): void {
    if (!this.#isReliable || args.length + kwargs.length > mostLength) return;
    const call: MadeCall = { ...(pack !== undefined && { pack }), name, args, kwargs };
    if (this.#call && names === this.#names && isSameCall(call, this.#call)) this.#times++;
    else [this.#call, this.#names, this.#times] = [call, names, 1];
  }

  /** An expected call did not come, so this text cannot be relied on. */
  missed(): void {
    this.#isReliable = false;
  }
}
