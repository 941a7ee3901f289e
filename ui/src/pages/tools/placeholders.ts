/** Where a placeholder gets its value: declared arguments first, then secrets, and never anything else. */
export interface Origins {
  args: Set<string>;
  secrets: Set<string>;
}
type Origin = 'argument' | 'secret' | 'unknown';

const placeholder = /\$?\$\{([^}]*)\}/g;

const originOf = (name: string, origins: Origins): Origin => {
  const first = /^[^.[]*/.exec(name)?.[0] ?? name;
  return origins.args.has(first) ? 'argument' : origins.secrets.has(name) ? 'secret' : 'unknown';
};

/** The text in pieces, each placeholder with its origin; `$${` is a literal and stays plain. */
export function piecesOf(text: string, origins: Origins): { text: string; name?: string; origin?: Origin }[] {
  const pieces: { text: string; name?: string; origin?: Origin }[] = [];
  let last = 0;
  for (const match of text.matchAll(placeholder)) {
    if (match[0].startsWith('$$')) continue;
    pieces.push({ text: text.slice(last, match.index) });
    pieces.push({ text: match[0], name: match[1] ?? '', origin: originOf(match[1] ?? '', origins) });
    last = match.index + match[0].length;
  }
  pieces.push({ text: text.slice(last) });
  return pieces;
}
