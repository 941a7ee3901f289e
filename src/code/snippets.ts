import { listing, nearest } from './nearest.ts';
import { nextLine } from './python-tokens.ts';
import { renderSnippet } from './snippet-template.ts';

export interface SnippetParam {
  description?: string;
  type?: string;
  default?: unknown;
  example?: unknown;
}

/** A named piece of program with parameters, as the configuration holds it. */
export interface SnippetDefinition {
  description?: string;
  params?: Record<string, SnippetParam | null>;
  body: string;
}

export type Snippets = Record<string, SnippetDefinition>;

/** A program whose snippets are expanded; `lines[n]` is the user's own line of line n + 1. */
export interface Expanded {
  code: string;
  lines?: number[];
}

/** A snippet that cannot be expanded; `line` is where the program asked for it. */
export class SnippetError extends Error {
  readonly line: number;
  constructor(message: string, line: number) {
    super(message);
    this.line = line;
  }
}

const invocation = /^([ \t]*)\$([A-Za-z_]\w*)(?![\w(])[ \t]*([^\n]*)$/;

/** Expands `$name key=value` lines outside of strings. Throws SnippetError. */
export function expandSnippets(code: string, snippets: Snippets): Expanded {
  if (!/^[ \t]*\$[A-Za-z_]/m.test(code)) return { code };
  let result = '';
  const lines: number[] = [];
  let line = 1;
  const append = (text: string, from: number, isMapped: boolean): void => {
    result += text;
    const count = text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
    for (let i = 0; i < count; i++) lines.push(isMapped ? from : from + i);
  };
  for (let at = 0; at < code.length;) {
    const eol = code.indexOf('\n', at);
    const lineText = code.slice(at, eol < 0 ? code.length : eol);
    const call = invocation.exec(lineText);
    if (!call) {
      const next = nextLine(code, at);
      append(code.slice(at, next), line, false);
      line += countLines(code, at, next);
      at = next;
      continue;
    }
    const [, indent = '', name = '', rest = ''] = call;
    const definition = Object.hasOwn(snippets, name) ? snippets[name] : undefined;
    if (!definition) throw new SnippetError(unknownSnippet(name, snippets), line);
    const given = parseInline(rest, name, line);
    let next = eol < 0 ? code.length : eol + 1;
    let used = 1;
    for (
      let under = underLine(code, next, indent, definition);
      under;
      under = underLine(code, next, indent, definition)
    ) {
      given.set(under.key, under.value);
      next = under.next;
      used++;
    }
    const text = expand(name, definition, given, line).replace(/\n+$/, '');
    append(
      text
        .split('\n')
        .map((each) => (each === '' ? each : indent + each))
        .join('\n') + '\n',
      line,
      true,
    );
    line += used;
    at = next;
  }
  return { code: result, lines };
}

/** The text of one snippet for these values; also what `info="full"` shows. Throws SnippetError. */
export function expand(
  name: string,
  definition: SnippetDefinition,
  given: ReadonlyMap<string, unknown>,
  line = 1,
): string {
  const params = definition.params ?? {};
  for (const key of given.keys())
    if (!Object.hasOwn(params, key)) {
      const near = nearest(key, Object.keys(params));
      throw new SnippetError(
        `$${name} has no parameter '${key}'.${near ? ` Did you mean '${near}'?` : ''} Parameters: ${listing(Object.keys(params))}`,
        line,
      );
    }
  const values: Record<string, unknown> = Object.create(null);
  for (const [key, param] of Object.entries(params)) {
    if (given.has(key)) values[key] = typed(name, key, given.get(key), param?.type, line);
    else if (param && Object.hasOwn(param, 'default')) values[key] = param.default;
    else throw new SnippetError(`$${name} needs ${key}. Write: ${exampleInvocation(name, definition)}`, line);
  }
  try {
    return renderSnippet(definition.body, values);
  } catch (error) {
    throw new SnippetError(`$${name} cannot be expanded: ${(error as Error).message}`, line);
  }
}

/** Values for the parameters that have no default: their example, or their own name. */
export function exampleValues(definition: SnippetDefinition): Map<string, unknown> {
  const values = new Map<string, unknown>();
  for (const [key, param] of Object.entries(definition.params ?? {}))
    if (!param || !Object.hasOwn(param, 'default')) values.set(key, param?.example ?? key);
  return values;
}

/** `$name key=value`, with only what must be given. */
export function exampleInvocation(name: string, definition: SnippetDefinition): string {
  const parts = [...exampleValues(definition)].map(([key, value]) => `${key}=${inlineValue(value)}`);
  return [`$${name}`, ...parts].join(' ');
}

function inlineValue(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return /^[^\s"'=]+$/.test(text) || typeof value !== 'string' ? text : JSON.stringify(text);
}

function unknownSnippet(name: string, snippets: Snippets): string {
  const names = Object.keys(snippets);
  const near = nearest(name, names);
  return `There is no snippet $${name}.${near ? ` Did you mean $${near}?` : ''} Snippets: ${listing(names.map((each) => `$${each}`))}`;
}

/** `key=value key2="two words" key3=[1, 2]`; words without a key belong to the value before them. */
export function parseInline(text: string, name: string, line: number): Map<string, unknown> {
  const values = new Map<string, unknown>();
  const key = /\s*([A-Za-z_]\w*)=/y;
  let at = 0;
  const trimmed = text.trimEnd();
  while (at < trimmed.length) {
    key.lastIndex = at;
    const found = key.exec(trimmed);
    if (!found)
      throw new SnippetError(`$${name}: expected key=value, found '${trimmed.slice(at).trim().slice(0, 40)}'`, line);
    const end = valueEnd(trimmed, key.lastIndex);
    values.set(found[1]!, readValue(trimmed.slice(key.lastIndex, end).trim()));
    at = end;
  }
  return values;
}

/** A value ends before the next ` key=` that stands outside of quotes and brackets. */
function valueEnd(text: string, start: number): number {
  const next = /\s+[A-Za-z_]\w*=/y;
  let quote = '';
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const char = text[at]!;
    if (quote) {
      if (char === '\\') at++;
      else if (char === quote) quote = '';
      continue;
    }
    const opensHere = at === start || /[\s[{(,:]/.test(text[at - 1]!);
    if ((char === '"' || char === "'") && opensHere && text.indexOf(char, at + 1) > 0) quote = char;
    else if ('[{('.includes(char)) depth++;
    else if (']})'.includes(char)) depth = Math.max(0, depth - 1);
    else if (depth === 0) {
      next.lastIndex = at;
      if (next.test(text)) return at;
    }
  }
  return text.length;
}

const escapes: Record<string, string> = { n: '\n', t: '\t', r: '\r' };

/** A value in quotes is the text between them; anything else is taken as it stands. */
function readValue(text: string): string {
  const quoted = /^(["'])((?:\\.|(?!\1)[^\\])*)\1$/s.exec(text);
  return quoted ? quoted[2]!.replace(/\\(.)/gs, (_, char: string) => escapes[char] ?? char) : text;
}

function underLine(
  code: string,
  at: number,
  indent: string,
  definition: SnippetDefinition,
): { key: string; value: string; next: number } | undefined {
  if (at >= code.length) return undefined;
  const eol = code.indexOf('\n', at);
  const text = code.slice(at, eol < 0 ? code.length : eol);
  const found = /^([ \t]*)([A-Za-z_]\w*):(?:[ \t]+([^\n]*))?$/.exec(text);
  if (!found) return undefined;
  const isDeeper = found[1]!.length > indent.length;
  if (!isDeeper && !Object.hasOwn(definition.params ?? {}, found[2]!)) return undefined;
  return { key: found[2]!, value: readValue((found[3] ?? '').trim()), next: eol < 0 ? code.length : eol + 1 };
}

function typed(name: string, key: string, value: unknown, type: string | undefined, line: number): unknown {
  if (typeof value !== 'string' || !type) return value;
  const wrong = (): SnippetError => new SnippetError(`$${name}: ${key} must be ${type}, got '${value}'`, line);
  if (type.startsWith('int')) {
    if (!/^[-+]?\d+$/.test(value)) throw wrong();
    return Number(value);
  }
  if (/^(?:float|number)/.test(type)) {
    if (value.trim() === '' || Number.isNaN(Number(value))) throw wrong();
    return Number(value);
  }
  if (type.startsWith('bool')) {
    if (!/^(?:true|false)$/i.test(value)) throw wrong();
    return value.toLowerCase() === 'true';
  }
  return value;
}

function countLines(text: string, from: number, to: number): number {
  let count = 0;
  for (let at = text.indexOf('\n', from); at >= 0 && at < to; at = text.indexOf('\n', at + 1)) count++;
  return count;
}
