import type { LogicalLine, Token } from './python-tokens.ts';

/** What a line of a program calls, and where it stands. */
export interface ClosedCall {
  pack?: string;
  name: string;
  start: number;
  end: number;
}

/** Builtins whose answer depends on nothing but their arguments. */
const pure = new Set(
  'abs bool dict enumerate float int len list max min range repr reversed round sorted str sum tuple zip'.split(' '),
);
const words = new Set('False None True and else for if in not or'.split(' '));

/**
 * The call that a line consists of, as in `x = parallel([("p.f", {"n": n}) for n in range(3)])`, if nothing but the text
 * decides what it is given: written-out values, names that the lines before gave such (`known`), names that it binds itself,
 * and pure builtins. If it is the first call of a program that a host answers, it is the same one every time.
 */
export function closedCall(
  { tokens }: LogicalLine,
  known: ReadonlySet<string>,
  boundNames: ReadonlySet<string>,
): ClosedCall | undefined {
  const from = tokens[0]?.kind === 'name' && tokens[1]?.text === '=' ? 2 : 0;
  const open = tokens.findIndex((token) => token.text === '(');
  const close = tokens.findIndex((token, i) => i > open && token.text === ')' && token.depth === 0);
  const path = tokens.slice(from, Math.max(from, open));
  if (close !== tokens.length - 1 || !isPath(path) || boundNames.has(path[0]!.text)) return undefined;
  const given = tokens.slice(open + 1, close);
  const own = loopNames(given);
  const isClear = (text: string): boolean =>
    words.has(text) || own.has(text) || known.has(text) || (pure.has(text) && !boundNames.has(text));
  const isClosed = (token: Token, i: number): boolean => {
    if (token.kind === 'name') return isClear(token.text) || given[i + 1]?.text === '=';
    if (token.kind === 'string') return token.inner === undefined;
    if (token.text === '{') return given[i + 1]?.text === '}' || isDict(given, i);
    return token.kind === 'number' || (token.kind === 'op' && token.text !== '.' && token.text !== ':=');
  };
  if (!given.every(isClosed)) return undefined;
  const place = { start: path[0]!.start, end: tokens[close]!.end };
  return path.length === 1 ? { name: path[0]!.text, ...place } : { pack: path[0]!.text, name: path[2]!.text, ...place };
}

/** `name` or `pack.name`. */
function isPath([pack, dot, name, ...more]: readonly Token[]): boolean {
  if (pack?.kind !== 'name' || more.length > 0) return false;
  return dot === undefined || (dot.text === '.' && name?.kind === 'name');
}

/** Names that comprehensions give a meaning. */
function loopNames(tokens: readonly Token[]): Set<string> {
  const names = new Set<string>();
  let isTarget = false;
  for (const { kind, text } of tokens) {
    if (text === 'for' || text === 'in') isTarget = text === 'for';
    else if (isTarget && kind === 'name') names.add(text);
  }
  return names;
}

/** A set has an order of its own in every process, so only a dict will do. */
function isDict(tokens: readonly Token[], open: number): boolean {
  const inside = tokens[open]!.depth + 1;
  const first = tokens.find(({ text, depth }, i) => i > open && depth <= inside && /^(?::|,|for|\})$/.test(text));
  return first?.text === ':';
}
