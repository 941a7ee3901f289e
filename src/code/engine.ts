import { ChildPool } from './child-pool.ts';
import { resolveFunction } from './resolve-name.ts';
import { prepare, type Prepared } from './prepare.ts';
import { programError, type ProgramError } from './program-error.ts';
import type { Format } from './program-shape.ts';
import type { TraceFrame } from './protocol.ts';
import { endOf, runProgram } from './run-program.ts';
import { SnippetError } from './snippets.ts';
import { staticCheck } from './static-check.ts';
import { stripWrapping } from './strip-wrapping.ts';
import type { World } from './world.ts';

/** Limits for all programs; read for each one, so that a changed configuration counts at once. */
export interface EngineLimits {
  /** Time a program may compute itself, waiting for calls not counted. */
  timeoutMs: number;
  maxMemoryMb: number;
  maxCalls: number;
  /** From start to end, waiting included. */
  totalMs?: number;
  maxRecursion?: number;
}

export interface EngineOptions {
  /** The script that `child.ts` became: `entryPoint('code/child')`. */
  childPath: string;
  limits: () => EngineLimits;
  /** Children one owner may keep busy; by default as many as there are processors, two to four. */
  children?: number;
  /** Told when a child was asked something, and when it answered: mostly a moment later. */
  onAsked?: () => void;
  onAnswered?: () => void;
}

export interface ProgramRequest {
  code: string;
  /** Whose program it is: owners share the processors fairly. */
  owner: string;
  world: World;
  /** Variables the program finds set. */
  inputs?: Record<string, unknown>;
  /** When it must have ended, by `performance.now()`; by default the engine's total time from now. */
  deadline?: number;
  /** By default the engine's; Infinity where the world counts calls itself. */
  maxCalls?: number;
  /** A value whose JSON is longer comes as `large`; by default everything comes as `json`. Asked anew after every call. */
  inlineBytes?: () => number;
  signal?: AbortSignal;
}

/** A value too long to be handed around: its text (indented JSON, or the string itself) and what it is like. */
export interface LargeValue {
  text: Buffer;
  shape: string;
}

export type ProgramOutcome =
  | {
      ok: true;
      printed: string;
      /** False when the program ended without a value. */
      hasValue: boolean;
      /** The value as compact JSON text; empty when it is `large`. */
      json: string;
      large?: LargeValue;
      format?: Format;
    }
  | { ok: false; printed: string; error: ProgramError };

/**
 * Runs programs. Every host call of a program goes to its `world`; while it waits it holds no process. Resolves
 * with an outcome also for programs that fail; rejects only when `signal` aborts.
 *
 * An agent whose tools stand alone hands in `{ bare, bareNames, call }`; code mode `{ pack, packNames, call }`.
 */
export interface Engine {
  run(request: ProgramRequest): Promise<ProgramOutcome>;
  /** Finds what is wrong with a program without running it: syntax always, names and arguments with a world. */
  check(code: string, options: { inputs?: string[]; world?: World; owner: string }): Promise<ProgramError | undefined>;
  close(): void;
}

const nothingAround: World = { call: () => Promise.reject(new Error('nothing can be called')) };

export const maxProgramLength = 128 * 1024;

/** The functions that a program is certain to need, as it writes them: `brave.search`. Those inside `try` are not. */
export function neededFunctions(code: string, inputs: readonly string[]): { pack: string; name: string }[] {
  const prepared = prepareFor(code, nothingAround);
  if ('error' in prepared) return [];
  return prepared.shape.callSites.flatMap(({ pack, name }) =>
    pack !== undefined && !inputs.includes(pack) ? [{ pack, name }] : [],
  );
}

export function openEngine(options: EngineOptions): Engine {
  const pool = new ChildPool({
    childPath: options.childPath,
    ...(options.children === undefined ? {} : { size: options.children }),
    maxMemoryMb: () => options.limits().maxMemoryMb,
    onAsked: options.onAsked,
    onAnswered: options.onAnswered,
  });
  pool.warm();
  return {
    async run(request) {
      const prepared = prepareFor(request.code, request.world);
      if ('error' in prepared) return { ok: false, printed: '', error: prepared.error };
      const names = await worldNames(prepared, request.world);
      const finding = await findBefore(prepared, request.world, Object.keys(request.inputs ?? {}));
      if (finding) return { ok: false, printed: '', error: finding };
      return runProgram(pool, request, prepared, names, options.limits());
    },
    async check(code, { inputs = [], world, owner }) {
      const prepared = prepareFor(code, world ?? nothingAround);
      if ('error' in prepared) return prepared.error;
      const child = await pool.acquire(owner, new AbortController().signal);
      try {
        const { head } = await child.ask(
          { op: 'check', code: prepared.code, inputs },
          undefined,
          options.limits().timeoutMs,
        );
        if (head.op === 'failed')
          return programError(
            head.type,
            head.message,
            prepared.ownLines(prepared.shapeLines(head.frames)),
            prepared.source,
          );
      } catch (error) {
        const { type, message } = endOf(error, options.limits());
        return programError(type, message, [], prepared.source);
      } finally {
        pool.release(child);
      }
      return world ? findBefore(prepared, world, inputs) : undefined;
    },
    close: () => pool.close(),
  };
}

function prepareFor(code: string, world: World): Prepared | { error: ProgramError } {
  if (code.length > maxProgramLength) {
    const message = `the program has ${code.length} characters, more than ${maxProgramLength}. Pass data through a tool instead of the code`;
    return { error: programError('SyntaxError', message, [], '') };
  }
  try {
    return prepare(code, world.snippets ?? {});
  } catch (error) {
    if (!(error instanceof SnippetError)) throw error;
    return { error: programError('SyntaxError', error.message, [{ line: error.line }], stripWrapping(code)) };
  }
}

/** Names of the program that mean something in its world; only these travel to the child. */
export interface WorldNames {
  packs: string[];
  bare: string[];
}

async function worldNames(prepared: Prepared, world: World): Promise<WorldNames> {
  const packs: string[] = [];
  const bare: string[] = [];
  const { freeNames } = prepared.shape;
  for (const name of freeNames) {
    const alias = world.aliases && Object.hasOwn(world.aliases, name) ? world.aliases[name]! : undefined;
    if (await world.pack?.(name)) packs.push(name);
    else if (await world.bare?.(name)) bare.push(name);
    else if (alias !== undefined && !alias.includes('.') && (await world.pack?.(alias))) packs.push(name);
    else if (alias !== undefined && !('error' in (await resolveFunction(world, undefined, name)))) bare.push(name);
  }
  return { packs, bare };
}

async function findBefore(
  { shape, ownLines, source }: Prepared,
  world: World,
  inputs: readonly string[],
): Promise<ProgramError | undefined> {
  const at = (line: number): TraceFrame[] => ownLines([{ line }]);
  if (shape.decoratorLine !== undefined) {
    const message = 'decorators are not supported. Call the function on the other one: f = wrap(f)';
    return programError('NotImplementedError', message, at(shape.decoratorLine), source);
  }
  if (shape.wrongFormatLine !== undefined) {
    const message = '__format__ must be written out as "json" or "yaml"';
    return programError('ValueError', message, at(shape.wrongFormatLine), source);
  }
  const sites = shape.callSites.filter(({ pack, name }) => !inputs.includes(pack ?? name));
  const finding = sites.length > 0 ? await staticCheck(sites, world) : undefined;
  return finding && programError(finding.type, finding.message, at(finding.line), source);
}
