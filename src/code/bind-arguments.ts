import { nearest } from './nearest.ts';
import type { FunctionInfo, Param } from './signature.ts';

export type Bound = { args: Record<string, unknown> } | { problem: string };

/**
 * Gives each argument of a call its parameter: positional ones in schema order, keywords by name or by a prefix
 * that only one parameter has. Values are not looked at; the schema's validator does that.
 */
export function bindArguments(
  info: FunctionInfo,
  positional: readonly unknown[],
  keywords: readonly [string, unknown][],
): Bound {
  const plain = positional.length === 0 && bindExact(info, keywords);
  if (plain) return { args: plain };
  const args = new Map<string, unknown>();
  const named = nameArguments(
    info,
    positional.length,
    keywords.map(([name]) => name),
  );
  if ('problem' in named) return named;
  positional.forEach((value, i) => args.set(info.params[i]!.name, value));
  keywords.forEach(([, value], i) => args.set(named.names[i]!, value));
  const missing = missingFrom(info, args, positional.length);
  if (missing) return { problem: missing };
  return { args: Object.fromEntries(args) };
}

/** Most calls name every parameter as it is called and leave out none that is required; undefined for all others. */
function bindExact(
  { params }: FunctionInfo,
  keywords: readonly [string, unknown][],
): Record<string, unknown> | undefined {
  const args: Record<string, unknown> = {};
  for (const [name, value] of keywords) {
    if (name === '__proto__' || Object.hasOwn(args, name) || !params.some((param) => param.name === name))
      return undefined;
    args[name] = value;
  }
  return params.some((param) => param.isRequired && !Object.hasOwn(args, param.name)) ? undefined : args;
}

/** The same without values, from a call's text alone. Undefined when nothing is wrong. */
export function checkArgumentNames(
  info: FunctionInfo,
  positionalCount: number,
  keywords: readonly string[],
  isPartial: boolean,
): string | undefined {
  const named = nameArguments(info, positionalCount, keywords);
  if ('problem' in named) return named.problem;
  if (isPartial) return undefined;
  const given = new Map<string, unknown>(named.names.map((name) => [name, true]));
  info.params.slice(0, positionalCount).forEach((param) => given.set(param.name, true));
  return missingFrom(info, given, positionalCount);
}

function nameArguments(
  info: FunctionInfo,
  positionalCount: number,
  keywords: readonly string[],
): { names: string[] } | { problem: string } {
  const wrong = (text: string): { problem: string } => ({
    problem: `${info.fullName}() ${text}\nSignature: ${info.signature}`,
  });
  if (positionalCount > info.params.length)
    return wrong(
      `takes ${info.params.length} positional argument${info.params.length === 1 ? '' : 's'} but ${positionalCount} were given`,
    );
  const taken = new Set(info.params.slice(0, positionalCount).map((param) => param.name));
  const names: string[] = [];
  for (const keyword of keywords) {
    const found = findParam(info.params, keyword);
    let name = keyword;
    if (found.length > 1)
      return wrong(`keyword '${keyword}' is ambiguous: it could be ${found.map((param) => param.name).join(' or ')}`);
    if (found.length === 1) name = found[0]!.name;
    else if (!info.isOpen) {
      const near = nearest(
        keyword,
        info.params.map((param) => param.name),
      );
      return wrong(`got an unexpected keyword argument '${keyword}'${near ? `. Did you mean '${near}'?` : ''}`);
    }
    if (taken.has(name)) return wrong(`got multiple values for argument '${name}'`);
    taken.add(name);
    names.push(name);
  }
  return { names };
}

/** Exact name first; then the form Python can write (`from_`, `max_results`); then a unique prefix. */
function findParam(params: readonly Param[], keyword: string): Param[] {
  const exact = params.filter((param) => param.name === keyword);
  if (exact.length > 0) return exact;
  const written = params.filter((param) => writable(param.name) === keyword || `${param.name}_` === keyword);
  if (written.length > 0) return written;
  return keyword === ''
    ? []
    : params.filter((param) => param.name.startsWith(keyword) || writable(param.name).startsWith(keyword));
}

const writable = (name: string): string => name.replace(/\W/g, '_');

function missingFrom(
  info: FunctionInfo,
  given: ReadonlyMap<string, unknown>,
  positionalCount: number,
): string | undefined {
  const missing = info.params
    .filter((param) => param.isRequired && !given.has(param.name))
    .map((param) => `'${param.name}'`);
  if (missing.length === 0) return undefined;
  return `${info.fullName}() missing ${missing.length} required argument${missing.length === 1 ? '' : 's'}: ${missing.join(', ')}${orderHint(info, positionalCount)}\nSignature: ${info.signature}`;
}

/** A signature shows what is required first, positions follow the schema: where the two differ, a position can surprise. */
function orderHint({ params }: FunctionInfo, positionalCount: number): string {
  const isMixed = params.some((param, i) => param.isRequired && i > 0 && !params[i - 1]!.isRequired);
  if (positionalCount === 0 || !isMixed) return '';
  return `. Without a name, arguments are taken as ${params.map((param) => param.name).join(', ')}: name them`;
}
