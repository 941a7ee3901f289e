import { bindArguments } from './bind-arguments.ts';
import { givenTo, isSameCall, type CertainCall, type Given, type MadeCall } from './made-call.ts';
import { parallelItems, type ParallelItem } from './parallel.ts';
import type { AheadCall, AnswerFields } from './protocol.ts';
import { resolveFunction, resolveWritten, type Resolved } from './resolve-name.ts';
import type { Answer, World } from './world.ts';

const parallelAtOnce = 16;
/** Answers that are fetched before the program has taken in the first of them. */
const mostAheadLength = 1024 * 1024;

/** Answers that a program keeps from its start to its end. */
const mostKnownLength = 64 * 1024;

/** Ends the program itself: no `except` in it can catch this. */
export class ProgramEnd extends Error {
  readonly type: string;
  constructor(type: string, message: string) {
    super(message);
    this.type = type;
  }
}

/** The answer of the call that a program waits for, and those of the calls that come next. */
export interface Answers {
  answer: AnswerFields;
  ahead: AheadCall[];
}

/** Tells calls that are still open that nobody waits for them. */
const ended = new Error('the program has ended');

/** The calls of one program, from its first to its last. */
export class ProgramCalls {
  readonly #world: World;
  readonly #most: number;
  #count = 0;
  #open = 0;
  #stop: AbortController | undefined;
  /** Calls that were made before the program came to them. */
  #made: AheadCall[] = [];
  /** Why the program must end now; undefined as long as it need not. */
  ending: { reason: unknown } | undefined;

  constructor(world: World, most: number) {
    this.#world = world;
    this.#most = most;
  }

  /** Made only when somebody looks at it: many programs call nothing. */
  get signal(): AbortSignal {
    if (!this.#stop) {
      this.#stop = new AbortController();
      if (this.ending) this.#stop.abort(this.ending.reason);
    }
    return this.#stop.signal;
  }

  end(reason: unknown): void {
    this.ending ??= { reason };
    this.#stop?.abort(reason);
  }

  finish(): void {
    if (this.#open > 0) this.#stop?.abort(ended);
  }

  /** What the promise answers, or a rejection as soon as the program must end. */
  orEnded<T>(promise: Promise<T>): Promise<T> {
    const { signal } = this;
    if (signal.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const stopped = (): void => reject(signal.reason);
      signal.addEventListener('abort', stopped, { once: true });
      promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stopped));
    });
  }

  /**
   * Makes the calls that a program begins with before it starts. Answers the values that can be handed to it at once, as
   * JSON; what is too long for that, or failed, waits until the program asks.
   */
  async makeFirst(certain: readonly CertainCall[]): Promise<string[]> {
    const first = certain[0]!;
    if (!(await this.#isReadOnly(await resolveFunction(this.#world, first.pack, first.name)))) return [];
    const { answer, ahead } = await this.orEnded(this.answers(first, certain));
    return this.handOver([{ ...withoutPlace(first), ...answer }, ...ahead]);
  }

  /** The values of calls that were made, as far as a program can be started with them; the rest waits until it asks. */
  handOver(made: AheadCall[]): string[] {
    let length = 0;
    const values: string[] = [];
    for (const { value } of made) {
      if (value === undefined || (length += value.length) > mostKnownLength) break;
      values.push(value);
    }
    this.#made = made.slice(values.length);
    return values;
  }

  /** Makes the call that a program is expected to begin with before it starts, and those that follow for certain. */
  async makeExpected(call: MadeCall, certain: readonly CertainCall[]): Promise<AheadCall[]> {
    if (isParallel(call)) {
      const items = parallelItems(givenTo(call, this.#world));
      if ('problem' in items || !(await this.#changeNothing(items.calls))) return [];
      return [{ ...call, ...(await this.orEnded(this.#parallel(items.calls))) }];
    }
    if (!(await this.#isReadOnly(await resolveFunction(this.#world, call.pack, call.name)))) return [];
    const { answer, ahead } = await this.orEnded(this.answers(call, certain));
    return [{ ...call, ...answer }, ...ahead];
  }

  async #changeNothing(calls: readonly ParallelItem[]): Promise<boolean> {
    const names = new Set(calls.map((item) => ('problem' in item ? undefined : item.name)));
    for (const name of names)
      if (name === undefined || !(await this.#isReadOnly(await resolveWritten(this.#world, name)))) return false;
    return true;
  }

  /**
   * The answer of the call that the program waits for; after its first one, as long as nothing fails and nothing is
   * changed, those of the calls that follow for certain, which spares a way to the child and back for each.
   */
  async answers(asked: MadeCall, certain: readonly CertainCall[]): Promise<Answers> {
    this.#open++;
    try {
      return await this.#answers(asked, certain);
    } finally {
      this.#open--;
    }
  }

  async #answers(asked: MadeCall, certain: readonly CertainCall[]): Promise<Answers> {
    const [made, ...ahead] = this.#made.splice(0);
    if (made && isSameCall(asked, made))
      return { answer: made.error ? { error: made.error } : { value: made.value! }, ahead };
    const given = givenTo(asked, this.#world);
    const isFirst = this.#count === 0;
    if (isParallel(asked)) {
      const items = parallelItems(given);
      if ('problem' in items) return { answer: { error: { type: 'TypeError', message: items.problem } }, ahead: [] };
      return { answer: await this.#parallel(items.calls), ahead: [] };
    }
    const resolved = await resolveFunction(this.#world, asked.pack, asked.name);
    const answer = answerFields(await this.#call(resolved, given));
    const isCertain = isFirst && certain.length > 0 && isSameCall(asked, certain[0]!);
    return { answer, ahead: isCertain ? await this.#callAhead(answer, certain.slice(1)) : [] };
  }

  /** Makes calls that the program has not reached yet, until one fails, may change something or answers too much. */
  async #callAhead(first: AnswerFields, calls: readonly CertainCall[]): Promise<AheadCall[]> {
    const ahead: AheadCall[] = [];
    let last = first;
    let length = last.value?.length ?? 0;
    let before: CertainCall | undefined;
    let resolved: Resolved | undefined;
    for (const call of calls) {
      if (last.error || length > mostAheadLength || this.ending || this.#count >= this.#most) break;
      if (!resolved || call.pack !== before?.pack || call.name !== before?.name) {
        resolved = await resolveFunction(this.#world, call.pack, call.name);
        if (!(await this.#isReadOnly(resolved))) break;
      }
      last = answerFields(await this.#call(resolved, givenTo(call, this.#world)));
      length += last.value?.length ?? 0;
      ahead.push({ ...withoutPlace(call), ...last });
      before = call;
    }
    return ahead;
  }

  async #isReadOnly(resolved: Resolved): Promise<boolean> {
    return !('error' in resolved) && (await this.#world.isReadOnly?.(resolved.target)) === true;
  }

  #call(resolved: Resolved, { args, keywords }: Given): Answer | Promise<Answer> {
    if ('error' in resolved) return resolved;
    const bound = bindArguments(resolved.info, args, keywords);
    if ('problem' in bound) return { error: { type: 'TypeError', message: bound.problem } };
    if (this.#count >= this.#most)
      throw new ProgramEnd(
        'RuntimeError',
        `the program made more than ${this.#most} calls. Fetch more per call, or split the work`,
      );
    this.#count++;
    return this.#world.call(resolved.target, bound.args, this.signal);
  }

  /** Many calls at once, answers in order; what fails is an answer too. */
  async #parallel(calls: readonly ParallelItem[]): Promise<AnswerFields> {
    const texts: string[] = Array.from({ length: calls.length });
    const functions = new Map<string, Resolved>();
    for (const call of calls)
      if (!('problem' in call) && !functions.has(call.name))
        functions.set(call.name, await resolveWritten(this.#world, call.name));
    let next = 0;
    const work = async (): Promise<void> => {
      for (let i = next++; i < calls.length; i = next++) {
        const call = calls[i]!;
        if ('problem' in call) {
          texts[i] = jsonText({ error: call.problem });
          continue;
        }
        this.#open++;
        try {
          const answer = await this.#call(functions.get(call.name)!, call);
          texts[i] = 'error' in answer ? jsonText({ error: answer.error.message }) : valueText(answer);
        } finally {
          this.#open--;
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(parallelAtOnce, calls.length) }, work));
    return { value: `[${texts.join(',')}]` };
  }
}

const isParallel = ({ pack, name }: MadeCall): boolean => pack === undefined && name === 'parallel';

const withoutPlace = ({ pack, name, args, kwargs }: CertainCall): MadeCall => ({ pack: pack!, name, args, kwargs });

export const jsonText = (value: unknown): string => JSON.stringify(value) ?? 'null';

const valueText = ({ value, json }: Extract<Answer, { value: unknown }>): string => json ?? jsonText(value);

/** Exception types that the interpreter knows; others become RuntimeError. */
const known = new Set(
  'ArithmeticError AssertionError AttributeError Exception FileNotFoundError IndexError KeyError LookupError NameError NotImplementedError OSError PermissionError RuntimeError TimeoutError TypeError ValueError ZeroDivisionError'.split(
    ' ',
  ),
);

function answerFields(answer: Answer): AnswerFields {
  if (!('error' in answer)) return { value: valueText(answer) };
  return {
    error: { type: known.has(answer.error.type) ? answer.error.type : 'RuntimeError', message: answer.error.message },
  };
}
