import { neededFunctions } from '../../code/index.ts';
import {
  fail,
  isObject,
  isPythonKeyword,
  parseExactly,
  type Actor,
  type Source,
  type Tool,
} from '../../schema/index.ts';
import { catalogWorld, lookups, newNotes } from './catalog-world.ts';
import { newBudget, type RunDeps } from './run-tool.ts';

/** Checks a script against the whole catalog when it is stored; what it may call is decided again for each caller. */
const overseer: Actor = { kind: 'local', door: 'cli', principal: 'local', level: 'admin' };
const identifier = /^[\p{ID_Start}_][\p{ID_Continue}]*$/u;

/** Stored programs as tools: the properties of the argument schema are their variables. */
export function scriptSource(deps: Omit<RunDeps, 'results'>): Source {
  const { engine, directory, settings } = deps;
  return {
    async check(tool) {
      const code = codeOf(tool);
      const world = {
        ...lookups(directory, overseer),
        aliases: settings().aliases,
        snippets: settings().snippets,
        call: () => Promise.reject(new Error('nothing is called while a script is stored')),
      };
      const error = await engine.check(code, { inputs: inputNames(tool), world, owner: 'scripts' });
      if (error) {
        const details = [{ path: '/scriptImpl/code', message: error.text }];
        throw fail('request.invalid', { reason: `/scriptImpl/code: ${error.text}` }, { details });
      }
    },

    disabledReason(tool) {
      if (!tool.scriptImpl) return 'it has no program';
      const missing = neededFunctions(tool.scriptImpl.code, inputNames(tool)).find(
        ({ pack, name }) => !isThere(deps, pack, name),
      );
      return missing && `it needs ${missing.pack}.${missing.name}, which is not there`;
    },

    level: (tool) => tool.access ?? 'write',

    async run(tool, args, call) {
      const notes = newNotes();
      const budget = call.budget ?? newBudget(deps);
      const outcome = await engine.run({
        code: codeOf(tool),
        owner: call.actor.principal,
        world: catalogWorld(deps, call, budget, notes),
        inputs: { ...Object.fromEntries(inputNames(tool).map((name) => [name, null])), ...asVariables(args), args },
        deadline: budget.deadline,
        maxCalls: Infinity,
        signal: call.signal,
      });
      if (!outcome.ok) throw fail('program.failed', { message: outcome.error.text });
      const printed = outcome.printed === '' ? null : outcome.printed;
      const value: unknown = outcome.hasValue ? parseExactly(outcome.json) : printed;
      return { value, ...(notes.foreign.size > 0 && { meta: { 'oubliette/foreign': [...notes.foreign].sort() } }) };
    },
  };
}

function codeOf(tool: Tool): string {
  if (!tool.scriptImpl)
    throw fail(
      'request.invalid',
      { reason: '/scriptImpl is missing' },
      { details: [{ path: '/scriptImpl', message: 'is missing' }] },
    );
  return tool.scriptImpl.code;
}

/** Every property is a variable by the name that a program can write. */
function inputNames(tool: Tool): string[] {
  const properties =
    isObject(tool.argSchema) && isObject(tool.argSchema['properties']) ? Object.keys(tool.argSchema['properties']) : [];
  return [...new Set([...properties.map(variableName).filter((name) => identifier.test(name)), 'args'])];
}

function variableName(property: string): string {
  const name = property.replace(/[^\p{ID_Continue}]/gu, '_');
  return isPythonKeyword(name) ? `${name}_` : name;
}

function asVariables(args: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(args)
      .map(([name, value]) => [variableName(name), value] as const)
      .filter(([name]) => identifier.test(name)),
  );
}

function isThere(
  { directory, settings }: Pick<RunDeps, 'directory' | 'settings'>,
  pack: string,
  name: string,
): boolean {
  const { aliases } = settings();
  const found =
    directory.pack(overseer, pack) ??
    (Object.hasOwn(aliases, pack) ? directory.pack(overseer, aliases[pack]!) : undefined);
  return found?.functions.includes(name) ?? false;
}
