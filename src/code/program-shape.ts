import { callSites, type CallSite } from './call-sites.ts';
import { everyToken, logicalLines, pythonTokens, type LogicalLine, type Token } from './python-tokens.ts';

const formats = ['json', 'yaml'] as const;
export type Format = (typeof formats)[number];

/** What can be known of a program without running it. */
export interface ProgramShape {
  tokens: Token[];
  lines: LogicalLine[];
  /** Names that the program reads and that the host may have to answer for, in order of appearance. */
  freeNames: Set<string>;
  /** Names the program itself gives a meaning somewhere. */
  boundNames: Set<string>;
  /** Top-level names that a function further up uses, or that only functions set: the interpreter would take them for others. */
  forwardNames: string[];
  endsInExpression: boolean;
  /** Calls that can be checked before anything runs. */
  callSites: CallSite[];
  format?: Format;
  /** Line of the first `__format__` that is none. */
  wrongFormatLine?: number;
  /** Line of the first decorator: the interpreter would ignore it silently. */
  decoratorLine?: number;
}

const keywords = new Set(
  (
    'False None True and as assert async await break class continue def del elif else except finally for from global if ' +
    'import in is lambda nonlocal not or pass raise return try while with yield'
  ).split(' '),
);
const statementWords = new Set(
  'assert async break class continue def del elif else except finally for from global if import nonlocal pass raise return try while with'.split(
    ' ',
  ),
);

const noTargets = new Set('assert def del global nonlocal raise return'.split(' '));

const builtins = new Set(
  (
    'Exception KeyboardInterrupt StopIteration SystemExit abs all any bin bool bytes chr dict divmod enumerate filter float frozenset ' +
    'getattr hasattr hash hex id int isinstance iter len list map max min next oct open ord pow print property range repr reversed ' +
    'round set setattr slice sorted str sum tuple type zip'
  ).split(' '),
);

/** True for what the interpreter knows by itself. */
export const isBuiltin = (name: string): boolean =>
  builtins.has(name) || /^(?:__\w+__|[A-Z]\w*(?:Error|Exception))$/.test(name);

/** Reads a program's shape; never fails, broken programs are the interpreter's to refuse. */
export function programShape(code: string): ProgramShape {
  const tokens = pythonTokens(code);
  const lines = logicalLines(code, tokens);
  const bound = new Map<string, number>();
  const firstUseInFunction = new Map<string, number>();
  const free = new Set<string>();
  const functionIndents: number[] = [];
  const moduleBound = new Map<string, number>();
  let decoratorLine: number | undefined;
  for (const line of lines) {
    while (functionIndents.length > 0 && line.indent <= functionIndents.at(-1)!) functionIndents.pop();
    const isInFunction = functionIndents.length > 0;
    const first = line.tokens[0]!;
    if (first.text === '@' && decoratorLine === undefined) decoratorLine = first.line;
    const all = [...everyToken(line.tokens)];
    for (const { name, at, isInner } of boundIn(all)) {
      if (!bound.has(name)) bound.set(name, at);
      if (!isInFunction && !isInner) moduleBound.set(name, Math.min(at, moduleBound.get(name) ?? Infinity));
    }
    if (first.text === 'global')
      for (const { text } of readNames(all)) moduleBound.set(text, moduleBound.get(text) ?? Infinity);
    const opensFunction = first.text === 'def' || (first.text === 'async' && line.tokens[1]?.text === 'def');
    const isLambda = all.some((token) => token.text === 'lambda');
    for (const token of readNames(all)) {
      free.add(token.text);
      if ((isInFunction || isLambda || opensFunction) && !firstUseInFunction.has(token.text))
        firstUseInFunction.set(token.text, token.start);
    }
    if (opensFunction) functionIndents.push(line.indent);
  }
  const forwardNames = [...moduleBound]
    .filter(([name, at]) => !isBuiltin(name) && (firstUseInFunction.get(name) ?? Infinity) < at)
    .map(([name]) => name);
  const shape: ProgramShape = {
    tokens,
    lines,
    freeNames: free,
    boundNames: new Set(bound.keys()),
    forwardNames,
    endsInExpression: endsInExpression(lines),
    callSites: callSites(lines, new Set(bound.keys())),
  };
  if (decoratorLine !== undefined) shape.decoratorLine = decoratorLine;
  return Object.assign(shape, formatOf(lines));
}

/** Names read anywhere in a line: not attributes, not keyword arguments, not keywords. */
function* readNames(all: readonly Token[]): Generator<Token> {
  for (let i = 0; i < all.length; i++) {
    const token = all[i]!;
    if (token.kind !== 'name' || keywords.has(token.text) || all[i - 1]?.text === '.') continue;
    if (token.depth > 0 && all[i + 1]?.text === '=') continue;
    yield token;
  }
}

/** Names on some lines that the program reads and nothing gives a meaning before. */
export function unknownOn({ tokens, boundNames, forwardNames }: ProgramShape, from: number, until = from): string[] {
  const all = [...everyToken(tokens)];
  const isUnknown = ({ text }: Token): boolean =>
    !isBuiltin(text) && (!boundNames.has(text) || forwardNames.includes(text));
  return [...readNames(all)]
    .filter((token) => token.line >= from && token.line <= until && isUnknown(token))
    .map(({ text }) => text);
}

interface Binding {
  name: string;
  at: number;
  /** Means something inside a function, lambda or comprehension of the line alone. */
  isInner: boolean;
}

/** Names that a line binds: assignments, loops, functions with their parameters, imports, `as`, walrus, lambda. */
function* boundIn(all: readonly Token[]): Generator<Binding> {
  const word = all[0]?.text === 'async' ? all[1]?.text : all[0]?.text;
  if (word === 'import' || word === 'from') {
    yield* imported(all, word);
    return;
  }
  const lastTarget = noTargets.has(word ?? '') ? -1 : all.findLastIndex(isAssignment);
  const place = new PlaceInLine();
  for (let i = 0; i < all.length; i++) {
    const token = all[i]!;
    place.pass(token, all[i - 1]);
    if (token.kind !== 'name' || keywords.has(token.text)) continue;
    const before = all[i - 1]?.text;
    const after = all[i + 1]?.text;
    if (before === '.') continue;
    const isTarget = i < lastTarget && !place.isInIndex && after !== '.' && after !== '(' && after !== '[';
    const isParameter =
      (word === 'def' && token.depth > 0 && before !== '=' && before !== ':') ||
      (token.depth === place.lambdaDepth && before !== '=');
    const isNamed = before === 'def' || before === 'as' || after === ':=' || (i === 0 && after === ':');
    const isInner = !isTarget && !isNamed && (isParameter || place.isComprehension);
    if (isTarget || isParameter || isNamed || place.isInLoopHead) yield { name: token.text, at: token.start, isInner };
  }
}

/** What surrounds the token that was passed last: it decides whether a name there is bound or read. */
class PlaceInLine {
  /** Between `for` and `in`. */
  isInLoopHead = false;
  /** True when the last `for` belongs to a comprehension. */
  isComprehension = false;
  /** The depth of the parameters of a lambda, -1 outside of them. */
  lambdaDepth = -1;
  /** For every open bracket: does it hold an index, as in `x[i]`? */
  readonly #brackets: boolean[] = [];

  get isInIndex(): boolean {
    return this.#brackets.at(-1) === true;
  }

  pass({ kind, text, depth }: Token, before: Token | undefined): void {
    if (kind === 'name') {
      if (text === 'for') [this.isInLoopHead, this.isComprehension] = [true, depth > 0];
      else if (text === 'in') this.isInLoopHead = false;
      else if (text === 'lambda') this.lambdaDepth = depth;
    } else if (kind === 'op') {
      if (text === '[' || text === '(' || text === '{') this.#brackets.push(text === '[' && isIndexed(before));
      else if (text === ']' || text === ')' || text === '}') this.#brackets.pop();
      else if (text === ':' && depth === this.lambdaDepth) this.lambdaDepth = -1;
    }
  }
}

const isIndexed = (before: Token | undefined): boolean =>
  before !== undefined &&
  ((before.kind === 'name' && !keywords.has(before.text)) || before.text === ')' || before.text === ']');

const isAssignment = (token: Token): boolean =>
  token.depth === 0 && token.kind === 'op' && /^(?:=|[-+*/%@&|^]=|\*\*=|\/\/=|<<=|>>=)$/.test(token.text);

function* imported(all: readonly Token[], word: string): Generator<Binding> {
  const from = word === 'from' ? all.findIndex((token) => token.text === 'import') : 0;
  for (let i = from + 1; i < all.length; i++) {
    const token = all[i]!;
    if (token.kind !== 'name' || token.text === 'as' || all[i - 1]?.text === '.' || all[i + 1]?.text === 'as') continue;
    yield { name: token.text, at: token.start, isInner: false };
  }
}

function endsInExpression(lines: readonly LogicalLine[]): boolean {
  const last = lines.at(-1);
  if (!last || last.indent > 0 || statementWords.has(last.tokens[0]!.text)) return false;
  let statement = last.tokens;
  const cut = statement.findLastIndex(
    (token, i) => token.text === ';' && token.depth === 0 && i < statement.length - 1,
  );
  if (cut >= 0) statement = statement.slice(cut + 1);
  if (statementWords.has(statement[0]!.text) || statement[0]!.text === '@') return false;
  let isLambda = false;
  for (const token of statement) {
    if (token.depth > 0 || token.kind === 'string') continue;
    if (token.text === 'lambda') isLambda = true;
    if (token.kind !== 'op') continue;
    if (isAssignment(token) && !isLambda) return false;
    if (token.text === ':') {
      if (!isLambda) return false;
      isLambda = false;
    }
  }
  return true;
}

/** The last one counts, as with any other name; it must stand there as a word. */
function formatOf(lines: readonly LogicalLine[]): Pick<ProgramShape, 'format' | 'wrongFormatLine'> {
  let format: Format | undefined;
  for (const { tokens, indent } of lines) {
    const [name, is, value, end] = tokens;
    if (indent > 0 || name!.text !== '__format__' || is?.text !== '=') continue;
    const isAlone = end === undefined || end.text === ';';
    format = isAlone ? formats.find((word) => value?.text === `"${word}"` || value?.text === `'${word}'`) : undefined;
    if (!format) return { wrongFormatLine: name!.line };
  }
  return format ? { format } : {};
}
