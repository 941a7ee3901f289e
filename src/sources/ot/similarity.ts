import { editDistance } from '../../code/index.ts';

const maxLength = 2000;

/** How alike a word or phrase is to the best word or part of a text: 1 is contained, 0 is nothing in common. */
export function similarity(search: string, text: string): number {
  const wanted = search.toLowerCase().slice(0, 64);
  const line = text.toLowerCase().slice(0, maxLength);
  if (wanted === '') return 0;
  if (line.includes(wanted)) return 1;
  let best = bestPart(wanted, line);
  for (const word of line.match(/[\p{L}\p{N}_]+/gu) ?? []) {
    if (word.length > 64) continue;
    best = Math.max(best, 1 - editDistance(wanted, word) / Math.max(wanted.length, word.length));
  }
  return best;
}

/** Edits to the nearest part of the text, wherever it starts and ends. */
function bestPart(wanted: string, text: string): number {
  if (wanted.length < 4) return 0;
  let last: number[] = Array.from({ length: wanted.length + 1 }, (_, i) => i);
  let least = wanted.length;
  for (const char of text) {
    const row = [0];
    for (let i = 1; i <= wanted.length; i++)
      row.push(Math.min(last[i]! + 1, row[i - 1]! + 1, last[i - 1]! + (wanted[i - 1] === char ? 0 : 1)));
    least = Math.min(least, row[wanted.length]!);
    last = row;
  }
  return 1 - least / wanted.length;
}
