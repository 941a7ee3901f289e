import type { Compiled } from './redactor.ts';

/** Hides secrets in JSON values that come one after another; holds a value back while its end could be the start of a secret. */
export interface RedactedItems {
  /** Takes over one more value; answers those that can be shown now, in order. */
  push(value: unknown): RedactedItem[];
  end(): RedactedItem[];
}

export interface RedactedItem {
  value: unknown;
  isChanged: boolean;
}

/** A place that this many items in a row did not have is no longer waited for, so that it cannot stall a stream. */
const mostSilent = 8;

interface Held extends RedactedItem {
  /** How many of its strings could continue in a later item. */
  open: number;
}

/** A string inside a held value. */
interface Piece {
  text: string;
  held: Held;
  write: (text: string) => void;
}

interface Tail {
  pieces: Piece[];
  /** The number of the item that had this place last. */
  seen: number;
}

/**
 * Streams send the same shape again and again with a few characters each: the strings at one place of the items are
 * read as one text.
 */
export function redactedItems(
  current: () => Compiled | undefined,
  redact: (value: unknown, rules: Compiled) => unknown,
): RedactedItems {
  const held: Held[] = [];
  /** What was said last at each place, as far as it could be the start of a secret. */
  const tails = new Map<string, Tail>();
  let count = 0;

  function join(path: string, piece: Piece, rules: Compiled): void {
    const before = tails.get(path)?.pieces ?? [];
    const pieces = [...before, piece];
    for (const { index, form } of rules.pattern.all(textOf(pieces)).reverse())
      hide(pieces, index, index + form.length, `[secret:${rules.names.get(form) ?? ''}]`);
    for (const each of before) each.held.open--;
    const kept = lastPieces(pieces, rules.pattern.openEnd(textOf(pieces)));
    for (const each of kept) each.held.open++;
    if (kept.length > 0) tails.set(path, { pieces: kept, seen: count });
    else tails.delete(path);
  }

  function closeSilent(): void {
    for (const [path, { pieces, seen }] of tails) {
      if (count - seen < mostSilent) continue;
      for (const each of pieces) each.held.open--;
      tails.delete(path);
    }
  }

  function release(isEnd: boolean): RedactedItem[] {
    const out: RedactedItem[] = [];
    while (held.length > 0 && (isEnd || held[0]!.open === 0)) out.push(held.shift()!);
    return out;
  }

  return {
    push(value) {
      const rules = current();
      const clean = rules ? redact(value, rules) : value;
      const item: Held = { value: clean, isChanged: clean !== value, open: 0 };
      held.push(item);
      count++;
      if (rules) for (const [path, piece] of stringsOf(item)) join(path, piece, rules);
      closeSilent();
      return release(false);
    },
    end: () => release(true),
  };
}

const textOf = (pieces: Piece[]): string => pieces.map(({ text }) => text).join('');

/** Puts `mark` in place of the joined text from `start` to `end`, which may span several pieces. */
function hide(pieces: Piece[], start: number, end: number, mark: string): void {
  let at = 0;
  for (const piece of pieces) {
    const { text } = piece;
    const [from, to] = [Math.max(start - at, 0), Math.min(end - at, text.length)];
    if (from < to) {
      piece.text = text.slice(0, from) + (start >= at ? mark : '') + text.slice(to);
      piece.write(piece.text);
      piece.held.isChanged = true;
    }
    at += text.length;
  }
}

function lastPieces(pieces: Piece[], length: number): Piece[] {
  const kept: Piece[] = [];
  for (let rest = length; rest > 0;) {
    const piece = pieces[pieces.length - 1 - kept.length]!;
    kept.push(piece);
    rest -= piece.text.length;
  }
  return kept.reverse();
}

/** Every string of a value with its place; looks without recursion. */
function* stringsOf(item: Held): Generator<[path: string, piece: Piece]> {
  const stack: { holder: Record<string, unknown>; key: string; path: string }[] = [
    { holder: item as unknown as Record<string, unknown>, key: 'value', path: '' },
  ];
  for (let next = stack.pop(); next; next = stack.pop()) {
    const { holder, key, path } = next;
    const value = holder[key];
    if (typeof value === 'string') yield [path, { text: value, held: item, write: (text) => (holder[key] = text) }];
    else if (typeof value === 'object' && value !== null)
      for (const step of Object.keys(value).reverse())
        stack.push({ holder: value as Record<string, unknown>, key: step, path: `${path}/${step}` });
  }
}
