import type { MadeCall } from './made-call.ts';
import type { Limits } from './monty.ts';

/** What the engine tells its child. Values travel as JSON text that only their reader parses. */
export type ToChild =
  | {
      op: 'start';
      code: string;
      packs: string[];
      bare: string[];
      inputs?: Record<string, string>;
      limits: Limits;
      maxPrintBytes: number;
      inlineBytes: number;
      /** The first call, which is being made already: a program that comes to it waits for what is sent next. */
      promised?: MadeCall;
    }
  /** Goes on with the program that waits in this child, or with the snapshot in the tail. */
  | {
      op: 'resume';
      packs: string[];
      bare: string[];
      value?: string;
      error?: { type: string; message: string };
      /** Answers of the calls that come next: where the program makes them, it goes on without asking. */
      ahead?: AheadCall[];
      maxPrintBytes: number;
      inlineBytes: number;
      /** Answers the promised call; a program that never came to it has been reported, and nothing is said again. */
      isPromised?: true;
    }
  /** Parses without running; answered with `done` or `failed`. */
  | { op: 'check'; code: string; inputs: string[] }
  /** Asks for the snapshot of the waiting program, which frees the child. */
  | { op: 'park'; isPromised?: true };

/** A call that was made before the program asked for it, with its answer. */
export interface AheadCall extends MadeCall {
  value?: string;
  error?: { type: string; message: string };
}

/** What the child answers; `out` is what was printed since the last message. */
export type FromChild =
  /** Said once: the interpreter is loaded. */
  | { op: 'ready' }
  | ({ op: 'call'; out: string } & MadeCall)
  | { op: 'parked' }
  /** A value above `inlineBytes` comes as readable text in the tail instead, with a word on its `shape`. */
  | { op: 'done'; out: string; isNothing: boolean; json: string; shape?: string }
  | { op: 'failed'; out: string; type: string; message: string; frames: TraceFrame[] };

export interface TraceFrame {
  line: number;
  functionName?: string;
}

/** The value of a program whose last statement is no expression: text that no program holds by chance. */
export const nothing = '\u{F0003}nothing\u{F0003}';
