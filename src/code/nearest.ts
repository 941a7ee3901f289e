/** The candidate most like `word`, if one is close enough to be a typo. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined;
  let bestDistance = Infinity;
  const wanted = word.toLowerCase();
  for (const candidate of candidates) {
    const other = candidate.toLowerCase();
    if (Math.min(wanted.length, other.length) < 2 && other !== wanted) continue;
    const limit = Math.max(1, Math.floor(Math.max(wanted.length, other.length) / 3));
    if (Math.abs(other.length - wanted.length) > limit && !other.includes(wanted) && !wanted.includes(other)) continue;
    const distance = other === wanted ? 0 : editDistance(wanted, other);
    const isContained = wanted.length > 2 && (other.includes(wanted) || wanted.includes(other));
    if (distance > limit && !isContained) continue;
    const score = Math.min(distance, limit + 1);
    if (score < bestDistance) {
      bestDistance = score;
      best = candidate;
    }
  }
  return best;
}

/** Edits between two words, where swapping two neighbours counts as one. */
export function editDistance(a: string, b: string): number {
  if (a.length > 64 || b.length > 64) return a === b ? 0 : 64;
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let least = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) least = Math.min(least, before[j - 2]! + 1);
      row.push(least);
    }
    before = last;
    last = row;
  }
  return last[b.length]!;
}

/** `a, b, c` and how many more there are. */
export function listing(names: readonly string[], max = 30): string {
  if (names.length === 0) return '(none)';
  const more = names.length > max ? ` and ${names.length - max} more` : '';
  return names.slice(0, max).join(', ') + more;
}
