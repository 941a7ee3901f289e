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
      /** As in `resume`, for the calls that it is expected to begin with. */
      ahead?: readonly AheadCall[];
    }
  /** Goes on with the program that waits in this child, or with the snapshot in the tail. */
  | {
      op: 'resume';
      answer: AnswerFields;
      /** Answers of the calls that come next: where the program makes them, it goes on without asking. */
      ahead?: readonly AheadCall[];
      maxPrintBytes: number;
      inlineBytes: number;
    }
  /** Parses without running; answered with `done` or `failed`. */
  | { op: 'check'; code: string; inputs: string[] }
  /** Asks for the snapshot of the waiting program, which frees the child. */
  | { op: 'park' };

/** An answer as it travels: JSON text, or an exception. */
export interface AnswerFields {
  value?: string;
  error?: { type: string; message: string };
}

/** A call that was made before the program asked for it, with its answer. */
export interface AheadCall extends MadeCall, AnswerFields {}

/** What the child answers; `out` is what was printed since the last message, `taken` how many answers ahead were used. */
export type FromChild =
  /** Said once: the interpreter is loaded. */
  | { op: 'ready' }
  | ({ op: 'call'; out: string; taken?: number } & MadeCall)
  | { op: 'parked' }
  /** A value above `inlineBytes` comes as readable text in the tail instead, with a word on its `shape`. */
  | { op: 'done'; out: string; taken?: number; isNothing: boolean; json: string; shape?: string }
  | { op: 'failed'; out: string; taken?: number; type: string; message: string; frames: TraceFrame[] };

export interface TraceFrame {
  line: number;
  /** Where only a block is known: its last line. */
  until?: number;
  /** As the interpreter gives it. */
  column?: number;
  functionName?: string;
}

/** The value of a program whose last statement is no expression: text that no program holds by chance. */
export const nothing = '\u{F0003}nothing\u{F0003}';
