import { fail } from '../../schema/index.ts';

/** True for a command as browsers write it for the prompt of Windows, where ^ is what \ is elsewhere. */
export function isForCmd(command: string): boolean {
  return /\s\^"|\^[ \t]*\r?\n/.test(command);
}

/** Cuts a command into words as that prompt and the programs under it do; throws import.invalid when a quote stays open. */
export function cmdWords(command: string): string[] {
  const text = withoutCarets(command);
  const words: string[] = [];
  let word: string | undefined;
  let isQuoted = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at] as string;
    if (!isQuoted && /\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
      continue;
    }
    word ??= '';
    const slashes = /\\*/y;
    slashes.lastIndex = at;
    const count = slashes.exec(text)?.[0].length ?? 0;
    if (count > 0 && text[at + count] === '"') {
      // Only before a quote are they more than themselves: two are one, and one that is left over makes the quote a text.
      word += '\\'.repeat(count >> 1) + (count % 2 === 1 ? '"' : '');
      at += count % 2 === 1 ? count : count - 1;
    } else if (char !== '"') word += char;
    else if (isQuoted && text[at + 1] === '"') {
      word += '"';
      at++;
    } else isQuoted = !isQuoted;
  }
  if (isQuoted) throw fail('import.invalid', { reason: 'a " is not closed' });
  if (word !== undefined) words.push(word);
  return words;
}

/** A ^ makes the next character a plain one and a line go on; between quotes it is a character like any other. */
function withoutCarets(command: string): string {
  let text = '';
  let isQuoted = false;
  for (let at = 0; at < command.length; at++) {
    const char = command[at] as string;
    if (char === '"') isQuoted = !isQuoted;
    if (char !== '^' || isQuoted) {
      text += char;
      continue;
    }
    const lineEnd = /[ \t]*\r?\n/y;
    lineEnd.lastIndex = at + 1;
    const end = lineEnd.exec(command)?.[0];
    at += end?.length ?? 0;
    // The first character of a line that goes on is plain too: so a line break is written as ^ and two of them.
    const next = /\r?\n|[^]?/y;
    next.lastIndex = at + 1;
    const taken = end !== undefined && command[at + 1] === '^' ? '' : (next.exec(command)?.[0] ?? '');
    text += taken;
    at += taken.length;
  }
  return text;
}
