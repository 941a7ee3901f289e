import { closedCall, type ClosedCall } from './closed-call.ts';
import { withGiven, type CertainCall } from './made-call.ts';
import type { ProgramShape } from './program-shape.ts';
import type { LogicalLine, Token } from './python-tokens.ts';
import { toJson } from './values.ts';

const mostCalls = 100;
const mostTextLength = 1024 * 1024;
/** Statements that do not simply go on to the next line. */
const compoundWords = new Set('async class def for if match raise return try while with'.split(' '));

/** The calls that a program starts with. */
export interface CertainCalls {
  calls: readonly CertainCall[];
  /** True when nothing before the first of them can fail: then the first is as certain as the rest. */
  isAtOnce: boolean;
  /** If there are none: a first call whose arguments are always the same, although only running it shows what they are. */
  closed?: ClosedCall;
}

/**
 * The calls that a program starts with, one per line, with nothing but written-out arguments: `a = brave.search(query="x")`.
 * Once the first of them is made, each one follows for certain unless the one before it fails.
 */
export function certainCalls({ lines, boundNames }: Pick<ProgramShape, 'lines' | 'boundNames'>): CertainCalls {
  const calls: CertainCall[] = [];
  const known = new Set<string>();
  let isAtOnce = true;
  for (const line of lines) {
    if (line.indent > 0 || calls.length >= mostCalls) break;
    const call = readCall(line);
    if (call && !boundNames.has(call.pack!)) calls.push(withGiven(call));
    else if (calls.length > 0) break;
    else if (isPlain(line)) known.add(line.tokens[0]!.text);
    else {
      const closed = isAtOnce ? closedCall(line, known, boundNames) : undefined;
      if (closed) return { calls, isAtOnce, closed };
      if (!isQuiet(line)) break;
      isAtOnce = false;
    }
  }
  return { calls, isAtOnce };
}

/** True for a line that only assigns a literal to a name. */
function isPlain({ tokens }: LogicalLine): boolean {
  if (tokens[0]?.kind !== 'name' || tokens[1]?.text !== '=') return false;
  const reader = new Reader(tokens, 2);
  try {
    reader.literal();
    return reader.isAtEnd;
  } catch (error) {
    if (error instanceof NoLiteral) return false;
    throw error;
  }
}

/** True for a line that calls nothing and that is always followed by the next one. */
function isQuiet({ tokens }: LogicalLine): boolean {
  return !compoundWords.has(tokens[0]!.text) && !tokens.some((token) => token.text === '(' || token.inner);
}

function readCall({ tokens }: LogicalLine): CertainCall | undefined {
  const isAssigned = tokens[0]?.kind === 'name' && tokens[1]?.text === '=';
  const reader = new Reader(tokens, isAssigned ? 2 : 0);
  const pack = reader.take('name');
  if (pack === undefined || !reader.skip('.')) return undefined;
  const name = reader.take('name');
  if (name === undefined || !reader.skip('(')) return undefined;
  const args: unknown[] = [];
  const keywords = new Map<string, unknown>();
  try {
    while (!reader.skip(')')) {
      const keyword = reader.keyword();
      if (keyword === undefined ? keywords.size > 0 : keywords.has(keyword) || keyword === '__proto__')
        return undefined;
      if (keyword === undefined) args.push(reader.literal());
      else keywords.set(keyword, reader.literal());
      if (!reader.skip(',') && !reader.sees(')')) return undefined;
    }
    if (!reader.isAtEnd) return undefined;
    const [start, end] = [tokens[isAssigned ? 2 : 0]!.start, tokens.at(-1)!.end];
    return { pack, name, args: toJson(args, mostTextLength), kwargs: toJson(keywords, mostTextLength), start, end };
  } catch (error) {
    if (error instanceof NoLiteral) return undefined;
    throw error;
  }
}

class NoLiteral extends Error {}

/** Reads literals whose value their text shows at once; all else is left to the interpreter. */
class Reader {
  readonly #tokens: readonly Token[];
  #at: number;

  constructor(tokens: readonly Token[], at: number) {
    this.#tokens = tokens;
    this.#at = at;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#tokens.length;
  }

  sees(op: string): boolean {
    const token = this.#tokens[this.#at];
    return token?.kind === 'op' && token.text === op;
  }

  skip(op: string): boolean {
    if (!this.sees(op)) return false;
    this.#at++;
    return true;
  }

  take(kind: Token['kind']): string | undefined {
    const token = this.#tokens[this.#at];
    if (token?.kind !== kind) return undefined;
    this.#at++;
    return token.text;
  }

  keyword(): string | undefined {
    if (this.#tokens[this.#at + 1]?.text !== '=') return undefined;
    const name = this.take('name');
    if (name !== undefined) this.#at++;
    return name;
  }

  literal(): unknown {
    if (this.skip('[')) return this.#list();
    if (this.skip('{')) return this.#dict();
    if (this.skip('-')) return this.#integer(-1);
    const token = this.#tokens[this.#at];
    if (token?.kind === 'number') return this.#integer(1);
    this.#at++;
    if (token?.kind === 'string') return plainText(token.text);
    if (token?.kind === 'name' && constants.has(token.text)) return constants.get(token.text);
    throw new NoLiteral();
  }

  #integer(sign: 1 | -1): number {
    const text = this.take('number');
    // Minus zero is plain zero to Python and not to JavaScript.
    if (text === undefined || !/^(?:0|[1-9]\d{0,14})$/.test(text) || (sign < 0 && text === '0')) throw new NoLiteral();
    return sign * Number(text);
  }

  #list(): unknown[] {
    const items: unknown[] = [];
    while (!this.skip(']')) {
      items.push(this.literal());
      if (!this.skip(',') && !this.sees(']')) throw new NoLiteral();
    }
    return items;
  }

  #dict(): Map<string, unknown> {
    const items = new Map<string, unknown>();
    while (!this.skip('}')) {
      const key = plainText(this.take('string') ?? '');
      if (!this.skip(':')) throw new NoLiteral();
      items.set(key, this.literal());
      if (!this.skip(',') && !this.sees('}')) throw new NoLiteral();
    }
    return items;
  }
}

const constants = new Map<string, unknown>([
  ['True', true],
  ['False', false],
  ['None', null],
]);

/** A string without prefix, escapes and line breaks. */
function plainText(text: string): string {
  if (!/^(?:"[^"\\\r\n]*"|'[^'\\\r\n]*')$/.test(text)) throw new NoLiteral();
  return text.slice(1, -1);
}
