import { bindArguments } from './bind-arguments.ts';
import { isSameCall, type MadeCall } from './certain-calls.ts';
import { ChildKilled, type Child } from './child-process.ts';
import type { ChildPool } from './child-pool.ts';
import type { EngineLimits, ProgramOutcome, ProgramRequest, WorldNames } from './engine.ts';
import { explain } from './explain.ts';
import type { Frame } from './frames.ts';
import { parallelItems } from './parallel.ts';
import type { Prepared } from './prepare.ts';
import { programError } from './program-error.ts';
import type { AheadCall, FromChild, ToChild } from './protocol.ts';
import { resolveFunction, resolveWritten, type Resolved } from './resolve-name.ts';
import type { Answer } from './world.ts';

const maxPrintBytes = 4 * 1024 * 1024;
/** A call that is answered within this time is worth keeping the child for: a snapshot costs more. */
const quickMs = 5;
const parallelAtOnce = 16;
/** Answers that are fetched before the program has taken in the first of them. */
const mostAheadLength = 1024 * 1024;

/** Ends the program itself: no `except` in it can catch this. */
class ProgramEnd extends Error {
  readonly type: string;
  constructor(type: string, message: string) {
    super(message);
    this.type = type;
  }
}

/** Runs a prepared program to its end, segment by segment. */
export async function runProgram(
  pool: ChildPool,
  request: ProgramRequest,
  prepared: Prepared,
  names: WorldNames,
  limits: EngineLimits,
): Promise<ProgramOutcome> {
  request.signal?.throwIfAborted();
  const program = new RunningProgram(pool, request, names, limits);
  try {
    const { head, tail } = await program.run(prepared);
    if (head.op === 'done') {
      const { format } = prepared.shape;
      return {
        ok: true,
        printed: program.printed,
        hasValue: !head.isNothing,
        json: head.json,
        ...(head.shape === undefined ? {} : { large: { text: tail, shape: head.shape } }),
        ...(format ? { format } : {}),
      };
    }
    const message = await explain(head.type, head.message, prepared.shape, request.world);
    return {
      ok: false,
      printed: program.printed,
      error: programError(head.type, message, prepared.ownLines(head.frames), prepared.source),
    };
  } catch (error) {
    request.signal?.throwIfAborted();
    const { type, message } = endOf(error, limits);
    return { ok: false, printed: program.printed, error: programError(type, message, [], prepared.source) };
  } finally {
    program.finish();
  }
}

/** What a program's author reads when its process did not answer. */
export function endOf(error: unknown, limits: EngineLimits): { type: string; message: string } {
  if (error instanceof ProgramEnd) return error;
  if (!(error instanceof ChildKilled))
    return { type: 'RuntimeError', message: error instanceof Error ? error.message : String(error) };
  if (error.reason === 'time')
    return {
      type: 'TimeoutError',
      message: `the program used more than ${limits.timeoutMs / 1000} s of its own time. Do less per program, or filter earlier`,
    };
  if (error.reason === 'cancelled') return { type: 'RuntimeError', message: 'the program was cancelled' };
  if (error.reason === 'not-started')
    return {
      type: 'RuntimeError',
      message: `the interpreter cannot be started on ${process.platform}-${process.arch}. Run: oubliette doctor`,
    };
  const nested = error.reason === 'crashed' ? ', or is nested too deeply' : '';
  return {
    type: 'MemoryError',
    message: `the program needed more than ${limits.maxMemoryMb} MiB${nested}. Keep less in memory at once`,
  };
}

/** Tells calls that are still open that nobody waits for them. */
const ended = new Error('the program has ended');

type Final = Extract<FromChild, { op: 'done' | 'failed' }>;

class RunningProgram {
  readonly #pool: ChildPool;
  readonly #request: ProgramRequest;
  readonly #names: WorldNames;
  readonly #limits: EngineLimits;
  readonly #stop = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #onAbort = (): void => this.#end(this.#request.signal?.reason);
  #child: Child | undefined;
  #ownMs = 0;
  #printedBytes = 0;
  #callsOpen = 0;
  #callsLeft: number;
  printed = '';

  constructor(pool: ChildPool, request: ProgramRequest, names: WorldNames, limits: EngineLimits) {
    this.#pool = pool;
    this.#request = request;
    this.#names = names;
    this.#limits = limits;
    const totalMs = limits.totalMs ?? 600_000;
    const leftMs = Math.min(totalMs, Math.max(0, (request.deadline ?? Infinity) - Date.now()));
    this.#callsLeft = request.maxCalls ?? limits.maxCalls;
    const late = (): void =>
      this.#end(
        new ProgramEnd(
          'TimeoutError',
          `the program took more than ${Math.round((limits.totalMs ?? 600_000) / 1000)} s in all, waiting included`,
        ),
      );
    this.#timer = setTimeout(late, Math.min(leftMs, 2 ** 31 - 1));
    request.signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  async run({ code, certain }: Pick<Prepared, 'code' | 'certain'>): Promise<Frame<Final>> {
    let following = certain.some(({ pack }) => this.#isInput(pack!)) ? [] : certain;
    const { timeoutMs, maxMemoryMb, maxRecursion = 200 } = this.#limits;
    const inlineBytes = this.#request.inlineBytes ?? ((): number => Number.MAX_SAFE_INTEGER);
    const inputs =
      this.#request.inputs &&
      Object.fromEntries(Object.entries(this.#request.inputs).map(([name, value]) => [name, jsonText(value)]));
    // Our own watch decides on time; the interpreter's clock also counts waiting and is only a second line.
    const limits = {
      maxDurationSecs: timeoutMs / 1000 + 10,
      maxMemory: maxMemoryMb * 1024 * 1024,
      maxRecursionDepth: maxRecursion,
    };
    let message: ToChild = {
      op: 'start',
      code,
      ...this.#lookup(),
      ...(inputs ? { inputs } : {}),
      limits,
      maxPrintBytes,
      inlineBytes: inlineBytes(),
    };
    let snapshot: Buffer | undefined;
    for (;;) {
      this.#child ??= await this.#pool.acquire(this.#request.owner, this.#stop.signal);
      if (!this.#child.isReady) await this.#child.ready;
      const { head, tail } = await this.#segment(this.#child, message, snapshot);
      snapshot = undefined;
      if (head.op === 'parked' || head.op === 'ready') throw new Error('the child answered something else');
      this.#print(head.out);
      if (head.op !== 'call') return { head, tail };
      const answering = this.#answers(head, following);
      following = [];
      let answers = await soon(answering, this.#pool.hasWaiting ? 0 : quickMs);
      if (answers === undefined) {
        snapshot = await this.#park(this.#child);
        answers = await this.#orStopped(answering);
      }
      const [answer, ...ahead] = answers;
      message = {
        op: 'resume',
        ...this.#lookup(),
        ...answer,
        ...(ahead.length > 0 ? { ahead } : {}),
        maxPrintBytes: maxPrintBytes - this.#printedBytes,
        inlineBytes: inlineBytes(),
      };
    }
  }

  /** Everything that must be let go of, whatever happened. */
  finish(): void {
    clearTimeout(this.#timer);
    this.#request.signal?.removeEventListener('abort', this.#onAbort);
    if (this.#child) this.#pool.release(this.#child);
    this.#child = undefined;
    if (this.#callsOpen > 0) this.#stop.abort(ended);
  }

  #end(reason: unknown): void {
    this.#stop.abort(reason);
    this.#child?.kill('cancelled');
  }

  async #segment(child: Child, message: ToChild, snapshot: Buffer | undefined): Promise<Frame<FromChild>> {
    const startedAt = performance.now();
    try {
      return await child.ask(message, snapshot, Math.max(1, this.#limits.timeoutMs - this.#ownMs));
    } catch (error) {
      throw this.#stop.signal.aborted ? this.#stop.signal.reason : error;
    } finally {
      this.#ownMs += performance.now() - startedAt;
    }
  }

  async #park(child: Child): Promise<Buffer> {
    const { tail } = await this.#segment(child, { op: 'park' }, undefined);
    this.#child = undefined;
    this.#pool.release(child);
    return Buffer.from(tail);
  }

  #lookup(): { packs: string[]; bare: string[] } {
    return { packs: this.#names.packs, bare: this.#names.bare };
  }

  #print(text: string): void {
    this.printed += text;
    this.#printedBytes += text.length;
  }

  #isInput(name: string): boolean {
    return this.#request.inputs !== undefined && Object.hasOwn(this.#request.inputs, name);
  }

  /**
   * The answer of the call that the program waits for; after it, as long as nothing fails and nothing is changed, those
   * of the calls that follow for certain, which spares a way to the child and back for each.
   */
  async #answers(asked: MadeCall, certain: readonly MadeCall[]): Promise<[AnswerFields, ...AheadCall[]]> {
    const { world } = this.#request;
    const { args, keywords } = argumentsOf(asked);
    if (asked.pack === undefined && asked.name === 'parallel')
      return [answerFields(await this.#parallel(args, keywords))];
    let last = answerFields(await this.#call(await resolveFunction(world, asked.pack, asked.name), args, keywords));
    const answers: [AnswerFields, ...AheadCall[]] = [last];
    if (certain.length === 0 || !isSameCall(asked, certain[0]!)) return answers;
    let length = last.value?.length ?? 0;
    for (const call of certain.slice(1)) {
      if (last.error || length > mostAheadLength || this.#stop.signal.aborted) break;
      const resolved = await resolveFunction(world, call.pack, call.name);
      if ('error' in resolved || !(await world.isReadOnly?.(resolved.target))) break;
      const given = argumentsOf(call);
      last = answerFields(await this.#call(resolved, given.args, given.keywords));
      length += last.value?.length ?? 0;
      answers.push({ ...call, ...last });
    }
    return answers;
  }

  async #call(resolved: Resolved, args: readonly unknown[], keywords: readonly [string, unknown][]): Promise<Answer> {
    if ('error' in resolved) return resolved;
    const bound = bindArguments(resolved.info, args, keywords);
    if ('problem' in bound) return { error: { type: 'TypeError', message: bound.problem } };
    if (this.#callsLeft <= 0)
      throw new ProgramEnd(
        'RuntimeError',
        `the program made more than ${this.#limits.maxCalls} calls. Fetch more per call, or split the work`,
      );
    this.#callsLeft--;
    this.#callsOpen++;
    try {
      return await this.#request.world.call(resolved.target, bound.args, this.#stop.signal);
    } finally {
      this.#callsOpen--;
    }
  }

  /** Many calls at once, answers in order; what fails is an answer too. */
  async #parallel(args: readonly unknown[], keywords: readonly [string, unknown][]): Promise<Answer> {
    const items = parallelItems(args, keywords);
    if ('problem' in items) return { error: { type: 'TypeError', message: items.problem } };
    const answers: unknown[] = Array.from({ length: items.calls.length });
    let next = 0;
    const work = async (): Promise<void> => {
      for (let i = next++; i < items.calls.length; i = next++) {
        const call = items.calls[i]!;
        const answer: Answer =
          'problem' in call
            ? { error: { type: 'TypeError', message: call.problem } }
            : await this.#call(await resolveWritten(this.#request.world, call.name), call.args, call.keywords);
        answers[i] = 'error' in answer ? { error: answer.error.message } : answer.value;
      }
    };
    await Promise.all(Array.from({ length: Math.min(parallelAtOnce, items.calls.length) }, work));
    return { value: answers };
  }

  #orStopped<T>(promise: Promise<T>): Promise<T> {
    const { signal } = this.#stop;
    if (signal.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const stopped = (): void => reject(signal.reason);
      signal.addEventListener('abort', stopped, { once: true });
      promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stopped));
    });
  }
}

/** The answer if it comes within `ms`; undefined otherwise. */
function soon<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(undefined), ms);
    promise.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}

const jsonText = (value: unknown): string => JSON.stringify(value) ?? 'null';

/** Exception types that the interpreter knows; others become RuntimeError. */
const known = new Set(
  'ArithmeticError AssertionError AttributeError Exception FileNotFoundError IndexError KeyError LookupError NameError NotImplementedError OSError PermissionError RuntimeError TimeoutError TypeError ValueError ZeroDivisionError'.split(
    ' ',
  ),
);

interface AnswerFields {
  value?: string;
  error?: { type: string; message: string };
}

function answerFields(answer: Answer): AnswerFields {
  if (!('error' in answer)) return { value: jsonText(answer.value) };
  return {
    error: { type: known.has(answer.error.type) ? answer.error.type : 'RuntimeError', message: answer.error.message },
  };
}

function argumentsOf({ args, kwargs }: MadeCall): { args: unknown[]; keywords: [string, unknown][] } {
  const keywords = Object.entries(JSON.parse(kwargs) as Record<string, unknown>);
  return { args: JSON.parse(args) as unknown[], keywords };
}
