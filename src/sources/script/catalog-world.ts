import { functionInfo, ProgramEnd, type Answer, type FunctionInfo, type Pack, type World } from '../../code/index.ts';
import {
  Failure,
  functionName,
  parseExactly,
  type Actor,
  type Budget,
  type Call,
  type Directory,
  type Outcome,
  type PackEntry,
  type Settings,
  type ToolView,
} from '../../schema/index.ts';

/** What a program did that its answer must mention. */
export interface ProgramNotes {
  /** Packs of other people's servers and HTTP tools that it called. */
  foreign: Set<string>;
  /** Answers of `ot.*` as JSON text: where one of them is the program's answer it is shown as YAML. */
  introspection: Set<string>;
  /** Those of them that came from a stored result: they are never stored again. */
  fromStore: Set<string>;
}

export const newNotes = (): ProgramNotes => ({ foreign: new Set(), introspection: new Set(), fromStore: new Set() });

export interface WorldDeps {
  directory: Directory;
  settings: () => Settings;
}

const infos = new WeakMap<ToolView, FunctionInfo>();

/** The whole catalog, as far as the actor reaches, as a program's world. Every call passes the gate under its own name. */
export function catalogWorld(deps: WorldDeps, call: Call, budget: Budget, notes: ProgramNotes): World {
  const { actor } = call;
  const { aliases, snippets } = deps.settings();
  const inner = new InnerBudget(budget);
  return {
    ...lookups(deps.directory, actor),
    bare: (name) => (name === 'run' ? runInfo : undefined),
    aliases,
    snippets,
    read: parseExactly,
    async isReadOnly({ pack, name }) {
      return pack !== undefined && (await toolOf(deps.directory, actor, pack, name))?.level === 'read';
    },
    async call(target, args, signal) {
      const found = target.pack === undefined ? undefined : toolOf(deps.directory, actor, target.pack, target.name);
      const view = found instanceof Promise ? await found : found;
      try {
        const outcome = await call.invoke(view?.name ?? target.name, args, { signal, budget: inner });
        if (view) take(notes, target.pack!, view, outcome);
        return answerOf(outcome);
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        if (error.code === 'program.failed') throw new ProgramEnd('RuntimeError', error.message);
        return { error: exceptionOf(error, view, target.pack === undefined ? runInfo : undefined) };
      }
    },
  };
}

const runInfo = functionInfo('run', {
  properties: { code: { type: 'string' } },
  required: ['code'],
  additionalProperties: false,
});

/** Packs and their functions, without the power to call them. */
export function lookups(directory: Directory, actor: Actor): Pick<World, 'pack' | 'packNames'> {
  return {
    pack: (name) => {
      const entry = directory.pack(actor, name);
      return entry && packOf(directory, entry);
    },
    packNames: () => directory.packs(actor).map(({ name }) => name),
  };
}

function packOf(directory: Directory, entry: PackEntry): Pack {
  return {
    name: entry.name,
    names: () => entry.functions,
    async find(written) {
      const fn = functionName(written);
      const view = await directory.tool(entry, fn);
      return view && infoOf(view, `${entry.name}.${fn}`);
    },
  };
}

/** A tool as a function; kept as long as its view is. */
export function infoOf(view: ToolView, fullName: string): FunctionInfo {
  let info = infos.get(view);
  if (!info) {
    info = functionInfo(fullName, view.argSchema);
    infos.set(view, info);
  }
  return info;
}

function toolOf(directory: Directory, actor: Actor, pack: string, fn: string): ReturnType<Directory['tool']> {
  const entry = directory.pack(actor, pack);
  return entry && directory.tool(entry, functionName(fn));
}

/** The gate counts calls against the budget that all programs of one call share; each level has one level less below it. */
class InnerBudget implements Budget {
  readonly #whole: Budget;
  depthLeft: number;
  deadline: number;

  constructor(whole: Budget) {
    this.#whole = whole;
    this.depthLeft = whole.depthLeft - 1;
    this.deadline = whole.deadline;
  }

  get callsLeft(): number {
    return this.#whole.callsLeft;
  }

  set callsLeft(left: number) {
    this.#whole.callsLeft = left;
  }
}

function take(notes: ProgramNotes, pack: string, view: ToolView, outcome: Outcome): void {
  if (view.type === 'mcp' || view.type === 'http') notes.foreign.add(pack);
  if (!view.isBuiltIn || view.bundleSlug !== 'ot' || !outcome.ok || typeof outcome.value !== 'object') return;
  const json = JSON.stringify(outcome.value);
  notes.introspection.add(json);
  if (view.slug === 'result') notes.fromStore.add(json);
}

function answerOf(outcome: Outcome): Answer {
  if (outcome.ok)
    return outcome.json === undefined ? { value: outcome.value } : { value: outcome.value, json: outcome.json };
  const { code, message } = outcome.error;
  // A tool may name the exception that a program should see.
  const named = /^(ValueError|TypeError|KeyError|LookupError|PermissionError|TimeoutError): ([\s\S]*)$/.exec(message);
  if (named) return { error: { type: named[1]!, message: named[2]! } };
  return { error: { type: types[code] ?? 'RuntimeError', message } };
}

const types: Record<string, string> = {
  'tool.timeout': 'TimeoutError',
  'source.unreachable': 'OSError',
  'args.invalid': 'TypeError',
  'tool.not_found': 'AttributeError',
  'scope.denied': 'PermissionError',
  'auth.invalid': 'PermissionError',
  'host.not_allowed': 'PermissionError',
};

function exceptionOf(
  failure: Failure,
  view: ToolView | undefined,
  fallback: FunctionInfo | undefined,
): { type: string; message: string } {
  const info = (view && infos.get(view)) ?? fallback;
  const signature = failure.code === 'args.invalid' && info ? `\nSignature: ${info.signature}` : '';
  return { type: types[failure.code] ?? 'RuntimeError', message: failure.message + signature };
}
