import { fail } from '../../schema/index.ts';
import { cmdWords, isForCmd } from './curl-cmd-words.ts';

/** A word of a shell command; `$NAME` and `${NAME}` outside single quotes are kept apart as variables. */
export type Word = readonly (string | { variable: string })[];

/** Cuts a command into words as the shell it is written for would; throws import.invalid when a quote stays open. */
export function shellWords(command: string): Word[] {
  return isForCmd(command) ? cmdWords(command).map((word) => [word]) : posixWords(command);
}

function posixWords(command: string): Word[] {
  const words: (string | { variable: string })[][] = [];
  let word: (string | { variable: string })[] | undefined;
  const add = (text: string): void => {
    word ??= [];
    if (typeof word.at(-1) === 'string') word.push(`${word.pop() as string}${text}`);
    else word.push(text);
  };
  let at = 0;
  const takeVariable = (): boolean => {
    const match = /^\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))/.exec(command.slice(at, at + 200));
    if (!match) return false;
    word ??= [];
    word.push({ variable: match[1] ?? match[2] ?? '' });
    at += match[0].length;
    return true;
  };
  while (at < command.length) {
    const char = command[at] as string;
    if (/\s/.test(char)) {
      if (word) words.push(word);
      word = undefined;
      at++;
    } else if (char === '\\') {
      if (!/[\r\n]/.test(command[at + 1] ?? '')) add(command[at + 1] ?? '');
      at += command.startsWith('\r\n', at + 1) ? 3 : 2;
    } else if (char === "'") {
      const end = command.indexOf("'", at + 1);
      if (end === -1) throw open("'");
      add(command.slice(at + 1, end));
      at = end + 1;
    } else if (char === '"' || command.startsWith("$'", at))
      at = quoted(command, at, add, (from) => ((at = from), takeVariable() ? at : undefined));
    else if (char !== '$' || !takeVariable()) {
      refuseProgram(command, at);
      add(char);
      at++;
    }
  }
  if (word) words.push(word);
  return words;
}

const escapes: Record<string, string> = {
  n: '\n',
  t: '\t',
  r: '\r',
  a: '\x07',
  b: '\b',
  e: '\x1b',
  f: '\f',
  v: '\v',
  '0': '\0',
  '\\': '\\',
  "'": "'",
  '"': '"',
  '?': '?',
};

/** Reads "..." or $'...' from `start`; answers where to go on. */
function quoted(
  command: string,
  start: number,
  add: (text: string) => void,
  variable: (from: number) => number | undefined,
): number {
  const isAnsi = command[start] === '$';
  const quote = isAnsi ? "'" : '"';
  let at = start + (isAnsi ? 2 : 1);
  add('');
  while (at < command.length) {
    const char = command[at] as string;
    if (char === quote) return at + 1;
    if (char === '\\') {
      const next = command[at + 1] ?? '';
      const hex = isAnsi ? /^(?:u([0-9a-fA-F]{1,4})|x([0-9a-fA-F]{1,2}))/.exec(command.slice(at + 1, at + 6)) : null;
      if (hex) add(String.fromCharCode(Number.parseInt(hex[1] ?? hex[2] ?? '0', 16)));
      else if (isAnsi) add(escapes[next] ?? char + next);
      else if (next !== '\n') add('"\\$`'.includes(next) ? next : char + next);
      at += 1 + (hex ? hex[0].length : next.length);
      continue;
    }
    if (!isAnsi) refuseProgram(command, at);
    const after = char === '$' && !isAnsi ? variable(at) : undefined;
    if (after === undefined) add(char);
    at = after ?? at + 1;
  }
  throw open(quote);
}

/** What another program would print there is not known to us. */
function refuseProgram(command: string, at: number): void {
  if (command[at] !== '`' && !command.startsWith('$(', at)) return;
  const shown = JSON.stringify(command.slice(at, at + 40));
  throw fail('import.invalid', {
    reason: `${shown} is the output of another program. Put a variable such as $TOKEN in its place`,
  });
}

const open = (quote: string): Error => fail('import.invalid', { reason: `a ${quote} is not closed` });

/** A word as it is written, variables included. */
export function plain(word: Word): string {
  return word.map((part) => (typeof part === 'string' ? part : `$${part.variable}`)).join('');
}
