import { createRequire } from 'node:module';

/** The interpreter's native part, as far as we use it. Values cross it as plain JavaScript. */
export interface Native {
  Monty: { create(code: string, options: { scriptName: string; inputs?: string[] }): unknown };
  MontySnapshot: { new (): Snapshot; load(data: Buffer, options: { printCallback: Print }): Snapshot };
  MontyNameLookup: new () => NameLookup;
  MontyComplete: new () => Complete;
  MontyException: new () => Exception;
}

export type Print = (stream: string, text: string) => void;

export interface Parsed {
  start(options: { inputs?: object; limits: Limits; printCallback: Print }): unknown;
}

export interface Limits {
  maxDurationSecs?: number;
  maxMemory: number;
  maxRecursionDepth: number;
}

/** A program that waits for the answer of a call. */
export interface Snapshot {
  readonly functionName: string;
  readonly args: unknown[];
  readonly kwargs: Record<string, unknown>;
  resume(answer: { returnValue: unknown } | { exception: { type: string; message: string } }): unknown;
  dump(): Buffer;
}

/** A program that asks what a name means. */
export interface NameLookup {
  resume(): unknown;
}

/** A program that has ended. */
export interface Complete {
  readonly output: unknown;
  /** The value with the interpreter's own names of types. */
  repr(): string;
}

export interface Exception {
  readonly exception: { typeName: string; message: string };
  traceback(): { line: number; column: number; functionName?: string; sourceLine?: string }[];
}

const packages: Record<string, string> = {
  'linux-x64': '@pydantic/monty-linux-x64-gnu',
  'linux-arm64': '@pydantic/monty-linux-arm64-gnu',
  'darwin-x64': '@pydantic/monty-darwin-x64',
  'darwin-arm64': '@pydantic/monty-darwin-arm64',
  'win32-x64': '@pydantic/monty-win32-x64-msvc',
};

/** Loads the interpreter for this machine; throws an Error that names the missing package. */
export function loadMonty(): Native {
  const platform = `${process.platform}-${process.arch}`;
  const name = packages[platform];
  if (name === undefined) throw new Error(`Programs cannot run on ${platform}: the interpreter is not made for it`);
  try {
    return createRequire(import.meta.url)(name) as Native;
  } catch (cause) {
    throw new Error(`Programs cannot run: package ${name} is not installed`, { cause });
  }
}
