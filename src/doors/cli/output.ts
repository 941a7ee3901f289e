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

/** Columns padded to their widest cell; the last one is left as it is. Empty rows give an empty text. */
export function columns(rows: readonly (readonly string[])[], gap = 2): string {
  const widths: number[] = [];
  for (const row of rows) row.forEach((cell, i) => (widths[i] = Math.max(widths[i] ?? 0, width(cell))));
  return rows
    .map((row) =>
      row.map((cell, i) => (i === row.length - 1 ? cell : cell + ' '.repeat(widths[i]! - width(cell) + gap))).join(''),
    )
    .join('\n');
}

/** One line, at most `max` characters. */
export function oneLine(text: string, max: number): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= max ? line : `${line.slice(0, max - 1)}…`;
}

/** `2026-11-15 09:12`, in UTC as everything stored is. */
export function shortTime(text: string | undefined | null): string {
  return text ? text.slice(0, 16).replace('T', ' ') : '-';
}

const escapes = /\u001b\[[0-9;]*m/g;
const width = (text: string): number => [...text.replace(escapes, '')].length;

/**
 * Text of agents, tools and servers made safe for a terminal: control characters other than line ends and tabs
 * could move the cursor, change the title or hide what was printed before.
 */
export function harmless(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '');
}
