import { ChildKilled, childrenDieWithUs, type Child } from './child-process.ts';
import type { ChildPool } from './child-pool.ts';
import type { EngineLimits, ProgramOutcome, ProgramRequest, WorldNames } from './engine.ts';
import { explain } from './explain.ts';
import type { Frame } from './frames.ts';
import { begun, over, type Lingering } from './linger.ts';
import { isSameCall, type CertainCall } from './made-call.ts';
import { knownName, type Prepared } from './prepare.ts';
import { jsonText, ProgramCalls, ProgramEnd, type Answers } from './program-calls.ts';
import { programError } from './program-error.ts';
import { rightLines } from './right-lines.ts';
import { ShadowedInputs } from './shadowed-inputs.ts';
import type { FromChild, ToChild } from './protocol.ts';

const maxPrintBytes = 4 * 1024 * 1024;
/** A call that is answered within this time is worth keeping the child for: a snapshot costs more. */
const quickMs = 5;
const defaultTotalMs = 600_000;

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
    const told = prepared.shapeLines(program.shadowed.withoutLine(head.frames));
    const frames = rightLines(head, prepared, told);
    const { type, message } = await explain(head, prepared.shape, request.world, frames.at(-1));
    return {
      ok: false,
      printed: program.printed,
      error: programError(type, message, prepared.ownLines(frames), prepared.source),
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

type Final = Extract<FromChild, { op: 'done' | 'failed' }>;
type Said = Extract<FromChild, { out: string }>;
type Segment = Extract<ToChild, { op: 'start' | 'resume' }>;

class RunningProgram implements Lingering {
  readonly #pool: ChildPool;
  readonly #request: ProgramRequest;
  readonly #names: WorldNames;
  readonly #limits: EngineLimits;
  readonly #endsAt: number;
  readonly #onAbort = (): void => this.#end(this.#request.signal?.reason);
  readonly #calls: ProgramCalls;
  readonly shadowed: ShadowedInputs;
  #timer: NodeJS.Timeout | undefined;
  #child: Child | undefined;
  #ownMs = 0;
  #printedBytes = 0;
  printed = '';

  constructor(pool: ChildPool, request: ProgramRequest, names: WorldNames, limits: EngineLimits) {
    this.#pool = pool;
    this.#request = request;
    this.#names = names;
    this.#limits = limits;
    this.shadowed = new ShadowedInputs(request.inputs);
    this.#endsAt = Math.min(performance.now() + (limits.totalMs ?? defaultTotalMs), request.deadline ?? Infinity);
    this.#calls = new ProgramCalls(request.world, request.maxCalls ?? limits.maxCalls);
    begun(this);
  }

  /** Most programs end before they need a timer of their own or a listener for a caller that hangs up. */
  linger(): void {
    const { signal } = this.#request;
    if (signal?.aborted) return this.#onAbort();
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    this.#timer = setTimeout(() => this.#late(), Math.min(Math.max(0, this.#endsAt - performance.now()), 2 ** 31 - 1));
  }

  async run(prepared: Prepared): Promise<Frame<Final>> {
    const certain = this.#certain(prepared);
    let message: Segment = await this.#first(prepared, certain);
    let snapshot: Buffer | undefined;
    let end: ProgramEnd | undefined;
    for (;;) {
      const child = (this.#child ??= this.#pool.take(this.#request.owner) ?? (await this.#wait()));
      if (!child.isReady) await child.ready;
      const { head, tail } = await this.#segment(child, message, snapshot);
      snapshot = undefined;
      if (head.op === 'parked' || head.op === 'ready') throw new Error('the child answered something else');
      this.#print(head.out);
      this.#learn(prepared, message, head);
      // The program went on although it was told to end.
      if (end && (head.op !== 'failed' || head.message !== end.message)) throw end;
      if (head.op !== 'call') return { head, tail };
      const answering = this.#calls.answers(head, certain);
      try {
        let answers = await soon(answering, this.#pool.hasWaiting ? 0 : quickMs);
        if (answers === undefined) {
          snapshot = await this.#park(child);
          answers = await this.#calls.orEnded(answering);
        }
        message = this.#resume(answers);
      } catch (error) {
        if (!(error instanceof ProgramEnd) || this.#calls.ending) throw error;
        // When the program itself reports its end, the error names the line.
        end = error;
        message = this.#resume({ answer: { error: { type: end.type, message: end.message } }, ahead: [] });
      }
    }
  }

  /** The start of a program. Calls that it is known to begin with are made before it holds a child. */
  async #first(prepared: Prepared, certain: readonly CertainCall[]): Promise<Segment> {
    if (prepared.isProven && prepared.certain.isAtOnce && certain.length > 0)
      return this.#start(prepared, await this.#calls.makeFirst(certain));
    const expected = this.#request.inputs ? undefined : prepared.firstCall.expected(this.#meaning);
    const ahead = expected ? await this.#calls.makeExpected(expected, certain) : [];
    const { closed } = prepared.certain;
    // Builtins look like calls too: only the one that was asked for is known to be closed.
    if (expected && closed && closed.pack === expected.pack && closed.name === expected.name)
      return this.#start(prepared, this.#calls.handOver(ahead));
    return { ...this.#start(prepared, []), ...(ahead.length > 0 && { ahead }) };
  }

  /** Remembers the calls of a program that follow from its text alone. */
  #learn(prepared: Prepared, message: Segment, head: Said): void {
    const { calls } = prepared.certain;
    const ahead = message.ahead?.length ?? 0;
    if (message.op === 'resume') {
      if (ahead > 0 && ahead === calls.length - 1 && head.taken === ahead) prepared.isProven = true;
    } else if (ahead > 0) {
      if (head.taken === undefined) prepared.firstCall.missed();
    } else if (head.op === 'call' && !message.inputs && head.out === '' && this.#ownMs < quickMs) {
      if (calls.length === 1 && isSameCall(head, calls[0]!)) prepared.isProven = true;
      else prepared.firstCall.seen(head, this.#meaning);
    }
  }

  /** Which names of the program mean what. */
  get #meaning(): string {
    return `${this.#names.packs.join()};${this.#names.bare.join()}`;
  }

  /** `known` are the answers of its first calls. */
  #start(prepared: Prepared, known: readonly string[]): Extract<Segment, { op: 'start' }> {
    const { timeoutMs, maxMemoryMb, maxRecursion = 200 } = this.#limits;
    const given = Object.entries(this.#request.inputs ?? {}).map(
      ([name, value]) => [this.shadowed.nameOf(name), jsonText(value)] as const,
    );
    // Whoever asks is the main program.
    const main = prepared.shape.freeNames.has('__name__') ? [['__name__', '"__main__"'] as const] : [];
    const inputs = [...main, ...given, ...known.map((value, i) => [knownName(i), value] as const)];
    return {
      op: 'start',
      code: this.shadowed.withLine(known.length > 0 ? prepared.withKnown(known.length) : prepared.code),
      packs: this.#names.packs,
      bare: this.#names.bare,
      ...(inputs.length > 0 && { inputs: Object.fromEntries(inputs) }),
      limits: {
        // Our own watch decides on time; the interpreter's clock, which it reads at every step, is for when nobody watches.
        ...(childrenDieWithUs ? {} : { maxDurationSecs: timeoutMs / 1000 + 10 }),
        maxMemory: maxMemoryMb * 1024 * 1024,
        maxRecursionDepth: maxRecursion,
      },
      maxPrintBytes,
      inlineBytes: this.#inlineBytes(),
    };
  }

  #resume({ answer, ahead }: Answers): Segment {
    return {
      op: 'resume',
      answer,
      ...(ahead.length > 0 ? { ahead } : {}),
      maxPrintBytes: maxPrintBytes - this.#printedBytes,
      inlineBytes: this.#inlineBytes(),
    };
  }

  #inlineBytes(): number {
    return this.#request.inlineBytes?.() ?? Number.MAX_SAFE_INTEGER;
  }

  #certain({ certain }: Prepared): readonly CertainCall[] {
    const { inputs } = this.#request;
    return inputs && certain.calls.some(({ pack }) => Object.hasOwn(inputs, pack!)) ? [] : certain.calls;
  }

  #wait(): Promise<Child> {
    return this.#pool.acquire(this.#request.owner, this.#calls.signal);
  }

  /** Releases everything, whatever happened. */
  finish(): void {
    over(this);
    if (this.#timer) {
      clearTimeout(this.#timer);
      this.#request.signal?.removeEventListener('abort', this.#onAbort);
    }
    if (this.#child) this.#pool.release(this.#child);
    this.#child = undefined;
    this.#calls.finish();
  }

  #late(): void {
    const seconds = Math.round((this.#limits.totalMs ?? defaultTotalMs) / 1000);
    this.#end(new ProgramEnd('TimeoutError', `the program took more than ${seconds} s in all, waiting included`));
  }

  #end(reason: unknown): void {
    this.#calls.end(reason);
    this.#child?.kill('cancelled');
  }

  async #segment(child: Child, message: ToChild, snapshot: Buffer | undefined): Promise<Frame<FromChild>> {
    const startedAt = performance.now();
    try {
      return await child.ask(message, snapshot, Math.max(1, this.#limits.timeoutMs - this.#ownMs));
    } catch (error) {
      throw this.#calls.ending ? this.#calls.ending.reason : error;
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

  #print(text: string): void {
    this.printed += text;
    this.#printedBytes += text.length;
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
