/** A formula that cannot be read or computed; the message says where and what to do. */
export class FormulaError extends Error {}

const maxLength = 2000;
const maxDepth = 100;

const constants: Record<string, number> = { pi: Math.PI, e: Math.E, tau: 2 * Math.PI };

type Compute = (...values: number[]) => number;
const functions: Record<string, { count: number | 'any'; run: Compute }> = {
  ...Object.fromEntries(
    (
      [
        'abs',
        'ceil',
        'floor',
        'sqrt',
        'cbrt',
        'exp',
        'log2',
        'log10',
        'sin',
        'cos',
        'tan',
        'asin',
        'acos',
        'atan',
        'sinh',
        'cosh',
        'tanh',
        'sign',
        'trunc',
      ] as const
    ).map((name) => [name, { count: 1, run: Math[name] }]),
  ),
  ln: { count: 1, run: Math.log },
  log: { count: 'any', run: (x = Number.NaN, base = Math.E) => Math.log(x) / Math.log(base) },
  round: {
    count: 'any',
    run: (x = Number.NaN, digits = 0) =>
      Math.abs(x) >= 1e15 ? x : shifted(Math.round(shifted(x, Math.trunc(digits))), -Math.trunc(digits)),
  },
  atan2: { count: 2, run: Math.atan2 },
  pow: { count: 2, run: Math.pow },
  hypot: { count: 'any', run: Math.hypot },
  min: { count: 'any', run: Math.min },
  max: { count: 'any', run: Math.max },
  sum: { count: 'any', run: (...values) => values.reduce((total, value) => total + value, 0) },
  mean: { count: 'any', run: (...values) => values.reduce((total, value) => total + value, 0) / values.length },
};

/** The number with its decimal point moved, without the rounding of a multiplication. */
function shifted(x: number, digits: number): number {
  const [mantissa, exponent] = x.toExponential().split('e');
  return Number(`${mantissa}e${Number(exponent) + digits}`);
}

/** How tightly each operator binds. `^` and `**` bind to the right and tighter than a sign. */
const binding = new Map([
  ['+', 1],
  ['-', 1],
  ['*', 2],
  ['/', 2],
  ['//', 2],
  ['%', 2],
  ['^', 4],
  ['**', 4],
]);
const signBinding = 3;

/** Computes a formula of numbers, + - * / // % ^, brackets, named values and functions. Throws FormulaError. */
export function evaluate(formula: string, variables: Readonly<Record<string, number>> = {}): number {
  if (formula.length > maxLength)
    throw new FormulaError(`The formula has ${formula.length} characters, at most ${maxLength} are read.`);
  const parser = new Parser(tokens(formula), variables);
  const value = parser.expression(0, 0);
  parser.end();
  if (!Number.isFinite(value))
    throw new FormulaError('The result is not a finite number: it is too large, or undefined at these values.');
  return tidy(value);
}

/** 0.1 + 0.2 is 0.3 to people; whole numbers stay exact. */
const tidy = (value: number): number => (Number.isInteger(value) ? value + 0 : Number(value.toPrecision(15)));

interface Token {
  kind: 'number' | 'name' | 'sign';
  text: string;
  at: number;
}

function tokens(formula: string): Token[] {
  const found: Token[] = [];
  const pattern =
    /\s*(?:(\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|(\*\*|\/\/|[-+*/%^(),]))/y;
  while (pattern.lastIndex < formula.trimEnd().length) {
    const at = pattern.lastIndex;
    const match = pattern.exec(formula);
    if (!match)
      throw new FormulaError(
        `Unexpected ${JSON.stringify(formula.slice(at).trimStart()[0])} at character ${at + 1}. Use numbers, + - * / // % ^, brackets and functions.`,
      );
    const [, number, name, sign] = match;
    if (number) found.push({ kind: 'number', text: number, at: at + 1 });
    else if (name) found.push({ kind: 'name', text: name, at: at + 1 });
    else found.push({ kind: 'sign', text: sign!, at: at + 1 });
  }
  return found;
}

class Parser {
  readonly #tokens: Token[];
  readonly #variables: Readonly<Record<string, number>>;
  #next = 0;

  constructor(all: Token[], variables: Readonly<Record<string, number>>) {
    this.#tokens = all;
    this.#variables = variables;
  }

  expression(least: number, depth: number): number {
    if (depth > maxDepth) throw new FormulaError(`The formula is nested deeper than ${maxDepth} levels.`);
    let left = this.#operand(depth);
    for (;;) {
      const operator = this.#tokens[this.#next]?.text ?? '';
      const strength = binding.get(operator);
      if (strength === undefined || strength < least) return left;
      this.#next++;
      const right = this.expression(strength === 4 ? strength : strength + 1, depth + 1);
      left = apply(operator, left, right);
    }
  }

  end(): void {
    const left = this.#tokens[this.#next];
    if (left) throw new FormulaError(`Unexpected ${JSON.stringify(left.text)} at character ${left.at}.`);
  }

  #operand(depth: number): number {
    const token = this.#tokens[this.#next++];
    if (!token) throw new FormulaError('The formula ends where a number is expected.');
    if (token.kind === 'number') return Number(token.text.replaceAll('_', ''));
    if (token.kind === 'name') return this.#named(token, depth);
    if (token.text === '-') return -this.expression(signBinding, depth + 1);
    if (token.text === '+') return this.expression(signBinding, depth + 1);
    if (token.text !== '(')
      throw new FormulaError(`Unexpected ${JSON.stringify(token.text)} at character ${token.at}.`);
    const value = this.expression(0, depth + 1);
    this.#demand(')');
    return value;
  }

  #named({ text, at }: Token, depth: number): number {
    if (this.#tokens[this.#next]?.text === '(') return this.#call(text, at, depth);
    if (Object.hasOwn(this.#variables, text)) return this.#variables[text] as number;
    if (Object.hasOwn(constants, text)) return constants[text] as number;
    throw new FormulaError(
      `Unknown name ${text} at character ${at}. Known: ${[...Object.keys(this.#variables), ...Object.keys(constants)].join(', ')}.`,
    );
  }

  #call(name: string, at: number, depth: number): number {
    const known = Object.hasOwn(functions, name) ? functions[name] : undefined;
    if (!known)
      throw new FormulaError(
        `Unknown function ${name} at character ${at}. Known: ${Object.keys(functions).join(', ')}.`,
      );
    this.#demand('(');
    const values: number[] = [];
    if (this.#tokens[this.#next]?.text !== ')')
      do values.push(this.expression(0, depth + 1));
      while (this.#tokens[this.#next]?.text === ',' && this.#next++ >= 0);
    this.#demand(')');
    if (known.count === 'any' ? values.length === 0 : values.length !== known.count)
      throw new FormulaError(
        `${name} takes ${known.count === 'any' ? 'at least one value' : `${known.count} values`}, got ${values.length}.`,
      );
    return known.run(...values);
  }

  #demand(text: string): void {
    const token = this.#tokens[this.#next++];
    if (token?.text !== text)
      throw new FormulaError(
        token
          ? `Expected ${text} at character ${token.at}, found ${JSON.stringify(token.text)}.`
          : `A ${text} is missing at the end.`,
      );
  }
}

function apply(operator: string, left: number, right: number): number {
  if (right === 0 && (operator === '/' || operator === '//' || operator === '%'))
    throw new FormulaError('Division by zero.');
  switch (operator) {
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return left * right;
    case '/':
      return left / right;
    case '//':
      return Math.floor(left / right);
    case '%':
      // As Python has it: the result has the sign of the divisor.
      return left - right * Math.floor(left / right);
    default:
      return left ** right;
  }
}
