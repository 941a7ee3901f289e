import { currentLanguage } from '../texts/index.ts';

export const count = (value: number): string => new Intl.NumberFormat(currentLanguage()).format(value);

/** For a tile: a number of eight digits and more is rounded, `208.8M`. */
export const roughCount = (value: number): string =>
  value < 10_000_000
    ? count(value)
    : new Intl.NumberFormat(currentLanguage(), { notation: 'compact', maximumFractionDigits: 1 }).format(value);

/** One failure among thousands is not rounded away: all is 100 %, and nothing else is. */
export const percent = (share: number): string =>
  new Intl.NumberFormat(currentLanguage(), { style: 'percent', maximumFractionDigits: 1 }).format(
    share < 1 ? Math.min(share, 0.999) : share,
  );

export const money = (usd: number): string =>
  new Intl.NumberFormat(currentLanguage(), {
    style: 'currency',
    currency: 'USD',
    maximumFractionDigits: usd < 1 ? 4 : 2,
  }).format(usd);

export function bytes(size: number): string {
  const units = ['B', 'KB', 'MB', 'GB'];
  let unit = 0;
  let value = size;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${new Intl.NumberFormat(currentLanguage(), { maximumFractionDigits: unit === 0 ? 0 : 1 }).format(value)} ${units[unit]}`;
}

export const duration = (ms: number): string =>
  ms < 1
    ? '< 1 ms'
    : ms < 1000
      ? `${Math.round(ms)} ms`
      : `${new Intl.NumberFormat(currentLanguage(), { maximumFractionDigits: 2 }).format(ms / 1000)} s`;

/** A rough count: about four characters of English or JSON make one token. */
export const roughTokens = (text: string): number => Math.ceil(text.length / 4);
