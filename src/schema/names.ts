import { createHash } from 'node:crypto';

const maxRunes = 64;
const slugRunes = /^[\p{L}\p{Nd}-]+$/u;
const versionRunes = /^[\p{L}\p{Nd}.-]+$/u;

const fits = (text: string, runes: RegExp): boolean =>
  text.isWellFormed() && runes.test(text) && [...text].length <= maxRunes;

/** 1 to 64 code points, each a Unicode letter, decimal digit or dash. */
export const isSlug = (text: string): boolean => fits(text, slugRunes);

/** As a slug, plus dots, but not only dots. */
export const isVersion = (text: string): boolean => fits(text, versionRunes) && !/^\.+$/.test(text);

export const isTag = (text: string): boolean => /^[a-zA-Z_][a-zA-Z0-9_-]*$/.test(text) && text.length <= 64;

/** `<bundle>_<tool>` with dashes as underscores; non-ASCII or over 60 characters: ASCII part + `_` + 8 hex of its hash. */
export function toolName(bundleSlug: string, toolSlug: string): string {
  const full = `${bundleSlug}_${toolSlug}`.replaceAll('-', '_');
  if (/^[\x20-\x7e]*$/.test(full) && full.length <= 60) return full;
  const hash = createHash('sha256').update(full).digest('hex').slice(0, 8);
  const ascii = full.replace(/[^\x20-\x7e]/g, '').slice(0, 51);
  return `${ascii}_${hash}`;
}
