import { isSameCall } from './made-call.ts';
import { CompiledPrograms } from './compiled-programs.ts';
import type { Complete, Exception, NameLookup, Native, Parsed, Print, Snapshot } from './monty.ts';
import { nothing, type AnswerFields, type FromChild, type ToChild, type TraceFrame } from './protocol.ts';
import { shapeOf } from './shape.ts';
import { fromJson, keywordsToJson, toJson, toPythonJson, ValueProblem } from './values.ts';

interface Reply {
  head: FromChild;
  tail?: Buffer;
}

const maxArgumentBytes = 8 * 1024 * 1024;
const maxValueBytes = 32 * 1024 * 1024;
const maxIndentedBytes = 4 * maxValueBytes;
/** Marks our packs among dataclasses; a program has no way to make one itself. */
const packType = 7_305_331n;

/** Drives the interpreter: each message runs a program to its next call, its end or its failure. */
export function programRunner(native: Native): (message: ToChild, tail: Buffer) => Reply {
  const programs = new CompiledPrograms(native);
  let waiting: Snapshot | undefined;
  let out = '';
  let printLeft = 0;
  let printedTooMuch = false;
  const print: Print = (_stream, text) => {
    // Each piece costs native memory until the program pauses, so many small ones count for more than their length.
    printLeft -= Math.max(text.length, 16);
    printedTooMuch = printLeft < 0;
    if (printedTooMuch) throw new Error('too much output');
    out += text;
  };

  return (message, tail) => {
    out = '';
    if (message.op === 'park') {
      const data = waiting!.dump();
      waiting = undefined;
      return { head: { op: 'parked' }, tail: data };
    }
    if (message.op === 'check') return { head: check(message) };
    printLeft = message.maxPrintBytes;
    printedTooMuch = false;
    try {
      let state = settleNames(message.op === 'start' ? start(message) : resume(message, tail));
      let taken = 0;
      for (const call of message.ahead ?? []) {
        if (!(state instanceof native.MontySnapshot) || !isSameCall(asked(state), call)) break;
        state = settleNames(answered(state, call));
        taken++;
      }
      const reply = report(state, message.inlineBytes);
      return taken === 0 ? reply : { ...reply, head: { ...reply.head, taken } };
    } catch (error) {
      waiting = undefined;
      const type = error instanceof ValueProblem ? 'ValueError' : 'RuntimeError';
      return { head: { op: 'failed', out, type, message: (error as Error).message, frames: [] } };
    }
  };

  function start(message: Extract<ToChild, { op: 'start' }>): unknown {
    // Set from the start, and not told when asked for: asked from within a function, the interpreter may give the wrong name.
    const inputs = Object.fromEntries([
      ...message.packs.map((name) => [name, packValue(name)]),
      ...message.bare.map((name) => [name, Object.defineProperty(() => undefined, 'name', { value: name })]),
      ...Object.entries(message.inputs ?? {}).map(([name, json]) => [name, fromJson(json)]),
    ]) as Record<string, unknown>;
    const names = Object.keys(inputs);
    const parsed = programs.compile(message.code, names);
    if (parsed instanceof native.MontyException) return parsed;
    return (parsed as Parsed).start({
      ...(names.length > 0 ? { inputs } : {}),
      limits: message.limits,
      printCallback: print,
    });
  }

  function check(message: Extract<ToChild, { op: 'check' }>): FromChild {
    const parsed = programs.compile(message.code, message.inputs);
    return parsed instanceof native.MontyException
      ? failed(parsed)
      : { op: 'done', out, isNothing: true, json: 'null' };
  }

  function resume(message: Extract<ToChild, { op: 'resume' }>, tail: Buffer): unknown {
    const snapshot = tail.length > 0 ? native.MontySnapshot.load(tail, { printCallback: print }) : waiting!;
    waiting = undefined;
    return answered(snapshot, message.answer);
  }

  function answered(snapshot: Snapshot, { value, error }: AnswerFields): unknown {
    if (error) return snapshot.resume({ exception: error });
    return snapshot.resume({ returnValue: fromJson(value ?? 'null') });
  }

  /** Names that are still asked for mean nothing. */
  function settleNames(state: unknown): unknown {
    while (state instanceof native.MontyNameLookup) state = (state as NameLookup).resume();
    return state;
  }

  function report(state: unknown, inlineBytes: number): Reply {
    if (state instanceof native.MontySnapshot) {
      waiting = state;
      return { head: asked(state) };
    }
    if (state instanceof native.MontyComplete) return finished(state, inlineBytes);
    return { head: failed(state as Exception) };
  }

  function asked(state: Snapshot): Extract<FromChild, { op: 'call' }> {
    const args = state.args;
    const pack = packOf(args[0]);
    return {
      op: 'call',
      out,
      ...(pack === undefined ? {} : { pack }),
      name: state.functionName,
      args: toJson(pack === undefined ? args : args.slice(1), maxArgumentBytes),
      kwargs: keywordsToJson(state.kwargs, maxArgumentBytes),
    };
  }

  /** Formats large values here, in the child, where the time it takes holds up nobody else. */
  function finished(complete: Complete, inlineBytes: number): Reply {
    const value = complete.output;
    if (value === nothing) return { head: { op: 'done', out, isNothing: true, json: 'null' } };
    const json = toPythonJson(value, maxValueBytes, () => complete.repr());
    // A string is answered as it is: quotes and escapes of its JSON do not count.
    const answer = typeof value === 'string' ? value : json;
    if (answer.length * 3 <= inlineBytes || Buffer.byteLength(answer) <= inlineBytes)
      return { head: { op: 'done', out, isNothing: false, json } };
    // Written again instead of parsed: JavaScript would round long integers.
    const text = typeof value === 'string' ? value : toJson(value, maxIndentedBytes, undefined, '  ');
    return { head: { op: 'done', out, isNothing: false, json: '', shape: shapeOf(value) }, tail: Buffer.from(text) };
  }

  function failed(error: Exception): FromChild {
    const { exception, frames } = failure(error);
    if (!printedTooMuch) return { op: 'failed', out, type: exception.typeName, message: exception.message, frames };
    return {
      op: 'failed',
      out: '',
      type: 'RuntimeError',
      message: 'the program printed more than 4 MiB. Print less, or return the value',
      frames,
    };
  }
}

function packValue(name: string): object {
  return {
    __monty_type__: 'Dataclass',
    name,
    typeId: packType,
    fieldNames: ['_pack'],
    fields: { _pack: name },
    frozen: true,
  };
}

function packOf(value: unknown): string | undefined {
  const tagged = value as { typeId?: unknown; name?: string } | null | undefined;
  return typeof tagged === 'object' && tagged !== null && tagged.typeId === packType ? tagged.name : undefined;
}

function failure(error: Exception): {
  exception: Exception['exception'];
  frames: TraceFrame[];
} {
  const frames = error
    .traceback()
    .map(({ line, column, functionName }) => ({ line, column, ...(functionName !== undefined && { functionName }) }));
  // In a deep recursion, the first and last frames tell the story.
  const few = frames.length > 12 ? [...frames.slice(0, 4), ...frames.slice(-4)] : frames;
  return { exception: error.exception, frames: few };
}
