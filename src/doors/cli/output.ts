import { styleText } from 'node:util';

export type Style = Parameters<typeof styleText>[0];

/** Where a command reads and writes; colours only on a terminal that wants them. */
export interface Terminal {
  readonly input: NodeJS.ReadStream;
  readonly output: NodeJS.WriteStream;
  readonly errors: NodeJS.WriteStream;
}

/** Colours text for one stream: nothing is added when it is no terminal, or NO_COLOR is set. */
export function painter(stream: NodeJS.WriteStream): (style: Style, text: string) => string {
  return (style, text) => styleText(style, text, { stream, validateStream: true });
}

/** Columns padded to their widest cell, unless that is very wide; the last one is cut where the line would be wider than `room`. */
export function columns(rows: readonly (readonly string[])[], room = Infinity): string {
  const gap = 2;
  const widths: number[] = [];
  for (const row of rows)
    row.forEach((cell, i) => (widths[i] = Math.min(widest, Math.max(widths[i] ?? 0, width(cell)))));
  return rows
    .map((row) => {
      const before = row
        .slice(0, -1)
        .map((cell, i) => cell + ' '.repeat(Math.max(0, widths[i]! - width(cell)) + gap))
        .join('');
      return `${before}${fitting(row.at(-1) ?? '', room - width(before))}`.trimEnd();
    })
    .join('\n');
}

/** What there is no room for is left out; too little room is none that could be kept to. */
function fitting(cell: string, left: number): string {
  return left < narrowest || width(cell) <= left ? cell : oneLine(cell.replace(escapes, ''), left);
}
const narrowest = 16;
/** One long name must not push all others apart. */
const widest = 44;

/** One line, at most `max` columns wide. */
export function oneLine(text: string, max: number): string {
  const line = text.replace(/\s+/g, ' ').trim();
  if (width(line) <= max) return line;
  let cut = '';
  let taken = 0;
  for (const { segment } of letters.segment(line)) {
    taken += columnsOf(segment);
    if (taken > max - 1) break;
    cut += segment;
  }
  return `${cut}…`;
}

/** `2026-11-15 09:12`, in UTC as everything stored is. */
export function shortTime(text: string | undefined | null): string {
  return text ? text.slice(0, 16).replace('T', ' ') : '-';
}

const escapes = /\u001b\[[0-9;]*m/g;
const letters = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
const wide =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;

const columnsOf = (letter: string): number => (wide.test(letter) ? 2 : 1);

/** How many columns a text takes: Chinese, Japanese and Korean letters and emoji take two. */
function width(text: string): number {
  const plain = text.replace(escapes, '');
  if (/^[\x20-\x7e]*$/.test(plain)) return plain.length;
  let sum = 0;
  for (const { segment } of letters.segment(plain)) sum += columnsOf(segment);
  return sum;
}

/**
 * Text of agents, tools and servers made safe for a terminal: control characters other than line ends and tabs
 * could move the cursor, change the title or hide what was printed before.
 */
export function harmless(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '');
}
