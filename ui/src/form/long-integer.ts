import { t } from '../texts/index.ts';

/** Strings are matched only to be skipped: what they hold are no numbers. */
const parts = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;
const boundBefore = /"(?:minimum|maximum|exclusiveMinimum|exclusiveMaximum)"\s*:\s*$/;
const furthestKey = 60;
const mostShown = 40;

interface LongInteger {
  digits: string;
  from: number;
}

/** The integers of a JSON text that JavaScript would send as others. The server refuses them, but would never see them. */
export const longIntegers = (text: string): LongInteger[] =>
  [...text.matchAll(parts)]
    .filter(([part]) => isChanged(part))
    .map(({ 0: digits, index }) => ({ digits, from: index }));

/** The same in a tool that is stored: there bounds may be rounded, because those of 64 bits then let the same numbers pass. */
export const lostInTool = (text: string): LongInteger[] =>
  longIntegers(text).filter(({ from }) => !boundBefore.test(text.slice(Math.max(0, from - furthestKey), from)));

/** The integer that stands alone where a number is expected, when JavaScript would send another one. */
export function longInteger(text: string): string | undefined {
  const digits = text.trim().replace(/^\+?(-?)0*(?=\d)/, '$1');
  return isChanged(digits) ? digits : undefined;
}

const isChanged = (part: string): boolean => /^-?\d{16,}$/.test(part) && String(Number(part)) !== part;

/** What the page says about it, before anything is sent. */
export const tooLong = (digits: string): string =>
  t('form.longInteger', { digits: digits.length > mostShown ? `${digits.slice(0, mostShown)}…` : digits });
