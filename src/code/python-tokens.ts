/** A piece of Python source. `inner` holds the tokens of the expressions inside an f-string. */
export interface Token {
  kind: 'name' | 'number' | 'string' | 'op' | 'newline' | 'broken';
  text: string;
  start: number;
  end: number;
  /** 1-based line of the first character. */
  line: number;
  /** Open brackets around it. */
  depth: number;
  inner?: Token[];
}

const name = /[\p{ID_Start}_][\p{ID_Continue}]*/uy;
const number = /(?:\d|\.\d)(?:[eE][+-]?\d|[\w.])*/y;
const quote = /(?:[rR][bBfFtT]?|[bBfFtT][rR]?|[uU])?("""|'''|"|')/y;
const operator = /\*\*=?|\/\/=?|<<=?|>>=?|->|:=|\.\.\.|[-+*/%@&|^<>=!]=|[-+*/%@&|^~<>()[\]{},:.;=!$?`\\]/y;

/** Spare the patterns where the first character decides. */
const mayOpenString = new Set('"\'rRbBfFtTuU');
const notInName = new Set('0123456789()[]{},.:;=+-*/%<>&|^~!@$?`"\'\\');

interface Cursor {
  text: string;
  at: number;
  line: number;
  /** f-strings inside f-strings. */
  nesting: number;
}

const maxNesting = 12;

/**
 * Cuts Python source into tokens as far as names, strings, brackets and logical lines go. Never fails: what is
 * no Python becomes a `broken` token, and the interpreter's own parser has the last word.
 */
export function pythonTokens(text: string): Token[] {
  return scan({ text, at: 0, line: 1, nesting: 0 }, false);
}

/** With `inBraces` the scan ends at the closing brace of an f-string's field. */
function scan(cursor: Cursor, inBraces: boolean): Token[] {
  const tokens: Token[] = [];
  const { text } = cursor;
  let depth = 0;
  const push = (kind: Token['kind'], end: number, inner?: Token[]): void => {
    const token: Token = { kind, text: text.slice(cursor.at, end), start: cursor.at, end, line: cursor.line, depth };
    if (inner) token.inner = inner;
    tokens.push(token);
    cursor.at = end;
  };
  while (cursor.at < text.length) {
    const char = text[cursor.at]!;
    if (char === '\n') {
      if (depth === 0 && !inBraces && tokens.length > 0 && tokens.at(-1)!.kind !== 'newline')
        push('newline', cursor.at + 1);
      else cursor.at++;
      cursor.line++;
      continue;
    }
    if (char === ' ' || char === '\t' || char === '\r' || char === '\f') {
      cursor.at++;
      continue;
    }
    if (char === '#') {
      const end = text.indexOf('\n', cursor.at);
      cursor.at = end < 0 ? text.length : end;
      continue;
    }
    if (char === '\\' && /^\\\r?\n/.test(text.slice(cursor.at, cursor.at + 3))) {
      cursor.at = text.indexOf('\n', cursor.at) + 1;
      cursor.line++;
      continue;
    }
    const opening = mayOpenString.has(char) ? matchAt(quote, cursor) : null;
    if (opening) {
      tokens.push(scanString(cursor, opening, depth));
      continue;
    }
    const found = notInName.has(char) ? null : matchAt(name, cursor);
    if (found) {
      push('name', cursor.at + found[0].length);
      continue;
    }
    const digits = (char >= '0' && char <= '9') || char === '.' ? matchAt(number, cursor) : null;
    if (digits) {
      push('number', cursor.at + digits[0].length);
      continue;
    }
    if (inBraces && depth === 0 && (char === '}' || char === ':' || (char === '!' && text[cursor.at + 1] !== '=')))
      return tokens;
    const op = matchAt(operator, cursor);
    if (!op) {
      push('broken', cursor.at + 1);
      continue;
    }
    if (')]}'.includes(op[0])) depth = Math.max(0, depth - 1);
    push('op', cursor.at + op[0].length);
    if ('([{'.includes(op[0])) depth++;
  }
  return tokens;
}

function scanString(cursor: Cursor, opening: RegExpExecArray, depth: number): Token {
  const { text } = cursor;
  const start = cursor.at;
  const line = cursor.line;
  const close = opening[1]!;
  const prefix = opening[0].slice(0, -close.length).toLowerCase();
  const isFormatted = prefix.includes('f') || prefix.includes('t');
  const isRaw = prefix.includes('r');
  const inner: Token[] = [];
  cursor.at += opening[0].length;
  const finish = (kind: Token['kind']): Token => {
    const token: Token = { kind, text: text.slice(start, cursor.at), start, end: cursor.at, line, depth };
    if (inner.length > 0) token.inner = inner;
    return token;
  };
  while (cursor.at < text.length) {
    const char = text[cursor.at]!;
    if (text.startsWith(close, cursor.at)) {
      cursor.at += close.length;
      return finish('string');
    }
    if (char === '\n') {
      if (close.length === 1) return finish('broken');
      cursor.line++;
      cursor.at++;
    } else if (char === '\\' && (!isRaw || text[cursor.at + 1] === close[0] || text[cursor.at + 1] === '\\')) {
      if (text[cursor.at + 1] === '\n') cursor.line++;
      cursor.at = Math.min(cursor.at + 2, text.length);
    } else if (isFormatted && char === '{') {
      if (text[cursor.at + 1] === '{') cursor.at += 2;
      else scanField(cursor, close, inner);
    } else cursor.at++;
  }
  return finish('broken');
}

/** One `{expression!r:format}` of an f-string; the format may hold fields of its own. */
function scanField(cursor: Cursor, close: string, inner: Token[]): void {
  const { text } = cursor;
  cursor.at++;
  // Deeper than anyone writes: what is inside is passed over, and the interpreter's parser refuses it.
  if (cursor.nesting >= maxNesting) return;
  cursor.nesting++;
  for (const token of scan(cursor, true)) inner.push(token);
  cursor.nesting--;
  if (text[cursor.at] === '!') while (cursor.at < text.length && !':}\n'.includes(text[cursor.at]!)) cursor.at++;
  if (text[cursor.at] === ':') {
    while (
      cursor.at < text.length &&
      text[cursor.at] !== '}' &&
      text[cursor.at] !== '\n' &&
      !text.startsWith(close, cursor.at)
    ) {
      if (text[cursor.at] === '{') scanField(cursor, close, inner);
      else cursor.at++;
    }
  }
  if (text[cursor.at] === '}') cursor.at++;
}

function matchAt(pattern: RegExp, cursor: Cursor): RegExpExecArray | null {
  pattern.lastIndex = cursor.at;
  return pattern.exec(cursor.text);
}

/** Where the next line starts; lines that a string runs across count as one. */
export function nextLine(text: string, start: number): number {
  const cursor: Cursor = { text, at: start, line: 1, nesting: 0 };
  while (cursor.at < text.length) {
    const char = text[cursor.at]!;
    if (char === '\n') return cursor.at + 1;
    if (char === '#') {
      const end = text.indexOf('\n', cursor.at);
      return end < 0 ? text.length : end + 1;
    }
    const opening = char === '"' || char === "'" || /[a-zA-Z]/.test(char) ? matchAt(quote, cursor) : null;
    if (opening) scanString(cursor, opening, 0);
    else cursor.at += matchAt(name, cursor)?.[0].length ?? 1;
  }
  return text.length;
}

/** All tokens, those inside f-strings included, in order of appearance. */
export function* everyToken(tokens: readonly Token[]): Generator<Token> {
  for (const token of tokens) {
    yield token;
    if (token.inner) yield* everyToken(token.inner);
  }
}

/** Logical lines with their indentation. */
export interface LogicalLine {
  tokens: Token[];
  indent: number;
}

export function logicalLines(text: string, tokens: readonly Token[]): LogicalLine[] {
  const lines: LogicalLine[] = [];
  let current: Token[] = [];
  const finish = (): void => {
    if (current.length > 0) lines.push({ tokens: current, indent: indentAt(text, current[0]!.start) });
    current = [];
  };
  for (const token of tokens) {
    if (token.kind === 'newline') finish();
    else current.push(token);
  }
  finish();
  return lines;
}

function indentAt(text: string, start: number): number {
  let width = 0;
  for (let at = text.lastIndexOf('\n', start - 1) + 1; at < start; at++)
    width = text[at] === '\t' ? (Math.floor(width / 8) + 1) * 8 : width + 1;
  return width;
}
