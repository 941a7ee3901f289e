import { Environment, Interpreter, parse, tokenize } from '@huggingface/jinja';
import { escapeInString, pythonLiteral } from './python-literal.ts';

type Node = { type: string } & Record<string, unknown>;
type Evaluator = new (env: Environment) => {
  evaluate(node: unknown, env: Environment): unknown;
  run(program: unknown): { value: string };
};

const maxSteps = 20_000;
const maxLength = 256 * 1024;
/** Private-use characters that mark where a value was placed in the rendered text. */
const open = '\u{F0001}';
const close = '\u{F0002}';
const blocks = new Set([
  'If',
  'For',
  'Set',
  'Macro',
  'CallStatement',
  'FilterStatement',
  'Break',
  'Continue',
  'Comment',
  'StringLiteral',
]);

/**
 * Fills a snippet's Jinja body. A value that lands inside a Python string is escaped for that string, so it can
 * only ever be text there. Throws an Error with a readable message; loops and sizes are bounded.
 */
export function renderSnippet(body: string, values: Record<string, unknown>): string {
  const program = parse(tokenize(body, { lstrip_blocks: true, trim_blocks: true }));
  markOutputs((program as unknown as { body: Node[] }).body);
  const env = new Environment();
  for (const [name, value] of Object.entries({
    true: true,
    false: false,
    none: null,
    True: true,
    False: false,
    None: null,
  }))
    env.set(name, value);
  env.set('range', boundedRange);
  env.set('__placed', placed);
  for (const [name, value] of Object.entries(values)) env.set(name, value);
  const rendered = new BoundedInterpreter(env).run(program);
  if (rendered.value.length > maxLength) throw new Error(`it expands to more than ${maxLength} characters`);
  return settle(rendered.value);
}

class BoundedInterpreter extends (Interpreter as unknown as Evaluator) {
  #steps = 0;
  override evaluate(node: unknown, env: Environment): unknown {
    // A loop with an empty body evaluates nothing inside, so the loop itself must cost something.
    this.#steps += (node as Node | undefined)?.type === 'For' ? 100 : 1;
    if (this.#steps > maxSteps) throw new Error(`it takes more than ${maxSteps} steps to expand`);
    return super.evaluate(node, env);
  }
}

function boundedRange(start: number, stop?: number, step = 1): number[] {
  const [from, to] = stop === undefined || stop === null ? [0, start] : [start, stop];
  const count = Math.max(0, Math.ceil((to - from) / step));
  if (!(count <= 1000)) throw new Error('range() over more than 1,000 items');
  return Array.from({ length: count }, (_, i) => from + i * step);
}

/** Wraps every `{{ output }}` into a call of `__placed`, so that values can be told from the template's own text. */
function markOutputs(body: Node[]): void {
  for (let i = 0; i < body.length; i++) {
    const node = body[i]!;
    for (const key of ['body', 'alternate', 'defaultBlock'])
      if (Array.isArray(node[key])) markOutputs(node[key] as Node[]);
    if (!blocks.has(node.type))
      body[i] = { type: 'CallExpression', callee: { type: 'Identifier', value: '__placed' }, args: [node] };
  }
}

function placed(value: unknown): string {
  const text = typeof value === 'string' ? value : pythonLiteral(plain(value));
  if (text.length > maxLength) throw new Error(`a value is longer than ${maxLength} characters`);
  return open + text.replaceAll(open, '').replaceAll(close, '') + close;
}

/** Unwraps the template engine's own value objects. */
function plain(value: unknown): unknown {
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, item]) => [key, plain(item)]));
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === 'object' && value !== null && 'value' in value && 'type' in value) return plain(value.value);
  return value;
}

/** Replaces the marks: escaped for the Python string they stand in, as they are elsewhere. */
function settle(text: string): string {
  let result = '';
  let quote: string | undefined;
  let prefix = '';
  /** Open braces of an f-string: what stands inside them is code again. */
  let braces = 0;
  for (let at = 0; at < text.length;) {
    if (text.startsWith(open, at)) {
      const end = text.indexOf(close, at);
      const value = text.slice(at + open.length, end);
      result += quote === undefined ? value : inString(value, quote, prefix, braces > 0);
      at = end + close.length;
      continue;
    }
    const char = text[at]!;
    if (quote === undefined) {
      if (char === '#') {
        const end = text.indexOf('\n', at);
        const comment = text.slice(at, end < 0 ? text.length : end);
        result += comment.replaceAll(open, '').replaceAll(close, '');
        at += comment.length;
        continue;
      }
      if (char === '"' || char === "'") {
        quote = text.startsWith(char.repeat(3), at) ? char.repeat(3) : char;
        prefix = stringPrefix.exec(result.slice(-3))?.[1]?.toLowerCase() ?? '';
        braces = 0;
        result += quote;
        at += quote.length;
        continue;
      }
    } else if (text.startsWith(quote, at)) {
      result += quote;
      at += quote.length;
      quote = undefined;
      continue;
    } else if (char === '\\') {
      result += text.slice(at, at + 2);
      at += 2;
      continue;
    } else if (char === '\n' && quote.length === 1) quote = undefined;
    else if (isFormatted(prefix)) {
      if (char === '{') braces++;
      else if (char === '}') braces = Math.max(0, braces - 1);
    }
    result += char;
    at++;
  }
  return result;
}

/** What may stand before the quotes of a string. */
const stringPrefix = /(?:^|\W)([bft]?r|r[bft]|[bftu])$/i;
const isFormatted = (prefix: string): boolean => /[ft]/.test(prefix);

function inString(value: string, quote: string, prefix: string, isInBraces: boolean): string {
  if (isInBraces && /[\n\r\\'"{}]/.test(value))
    throw new Error(
      'a value with quotes, backslashes, braces or line breaks cannot stand in the braces of an f-string',
    );
  const text = isFormatted(prefix) ? value.replace(/[{}]/g, '$&$&') : value;
  if (!prefix.includes('r')) return escapeInString(text, quote);
  if (/[\n\r\\]/.test(text) || text.includes(quote[0]!))
    throw new Error('a value with quotes, backslashes or line breaks cannot stand in a raw string');
  return text;
}
