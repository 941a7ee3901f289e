import { useEffect, useState } from 'react';
import { currentLanguage, currentLocale, t } from '../texts/index.ts';

const units: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];

/** A time the way people say it, with the exact value on hover. */
export function When({ at, never }: { at: string | null | undefined; never?: string }) {
  useMinutes();
  if (!at) return <span className="faint">{never ?? t('common.never')}</span>;
  return (
    <time dateTime={at} title={`${exactTime(at)} · ${at}`} className="number">
      {relativeTime(at)}
    </time>
  );
}

export function relativeTime(at: string, now = Date.now()): string {
  const seconds = (new Date(at).getTime() - now) / 1000;
  if (Number.isNaN(seconds)) return at;
  const format = new Intl.RelativeTimeFormat(currentLanguage(), { numeric: 'auto', style: 'short' });
  for (const [unit, length] of units)
    if (Math.abs(seconds) >= length) return format.format(Math.round(seconds / length), unit);
  // A clock that is a little ahead makes the present look like the future.
  return seconds > 5 ? format.format(Math.round(seconds), 'second') : t('common.justNow');
}

export const exactTime = (at: string): string =>
  new Date(at).toLocaleString(currentLocale(), { dateStyle: 'medium', timeStyle: 'medium' });

export const clockTime = (at: string): string => new Date(at).toLocaleTimeString(currentLocale());

function useMinutes(): void {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((count) => count + 1), 30_000);
    return () => clearInterval(timer);
  }, []);
}
