import type { FunctionInfo } from './signature.ts';
import type { Snippets } from './snippets.ts';

type Awaitable<T> = T | Promise<T>;

/** A name with attributes: `brave` in `brave.search(...)`. */
export interface Pack {
  name: string;
  /** The function a program means by this attribute, or undefined. */
  find(name: string): Awaitable<FunctionInfo | undefined>;
  /** Its functions' names, without the pack. */
  names(): readonly string[];
}

/** What a program asks to be called. `pack` is absent for functions that stand alone. */
export interface Target {
  pack?: string;
  name: string;
}

/**
 * An answer: a JSON value (with its text, where that is known), or an exception that the program can catch. `type` is a
 * builtin exception's name.
 */
export type Answer = { value: unknown; json?: string } | { error: { type: string; message: string } };

/**
 * All that a program can reach. Whoever runs a program hands in its world: the `run` tool the catalog's packs, a
 * script the same, an agent its MCP tools as functions that stand alone. Look-ups happen only for names that
 * occur in the program; they should be cheap.
 */
export interface World {
  pack?(name: string): Awaitable<Pack | undefined>;
  packNames?(): Awaitable<string[]>;
  /** Functions that stand alone: `oubliette_project_list()`. */
  bare?(name: string): Awaitable<FunctionInfo | undefined>;
  bareNames?(): Awaitable<string[]>;
  /** Other names of functions or packs: `ws` for `brave.web_search`. */
  aliases?: Record<string, string>;
  snippets?: Snippets;
  /** True when a call changes nothing, so that it may be made before the program has taken in the answer of the one before. */
  isReadOnly?(target: Target): Awaitable<boolean>;
  /** Reads the JSON of a call's arguments, with all that JavaScript cannot hold as `call` wants it; JSON.parse if left out. */
  read?(json: string): unknown;
  /** Calls a function with arguments by their full names. Rejections end the program; errors it may catch are answers. */
  call(target: Target, args: Record<string, unknown>, signal: AbortSignal): Promise<Answer>;
}
