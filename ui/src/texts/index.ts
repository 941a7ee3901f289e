import { useSyncExternalStore } from 'react';
import { recall, remember } from '../parts/memory.ts';
import { english, type TextKey } from './english.ts';

export type { TextKey };
export type Language = 'en' | 'de';
export const languages: Record<Language, string> = { en: 'English', de: 'Deutsch' };

let language: Language = 'en';
let texts: Record<TextKey, string> = english;
const listeners = new Set<() => void>();

/** The text of a key in the chosen language, with `{name}` filled from `values`. */
export function t(key: TextKey, values: Record<string, string | number> = {}): string {
  return texts[key].replace(/\{(\w+)\}/g, (whole, name: string) => (name in values ? String(values[name]) : whole));
}

type Counted = { [K in TextKey]: K extends `${infer Stem}.one` ? Stem : never }[TextKey];

/** A counted text: `<stem>.one` or `<stem>.other`, with `{count}` written the way the language writes numbers. */
export function tn(stem: Counted, count: number): string {
  const form = new Intl.PluralRules(language).select(count) === 'one' ? 'one' : 'other';
  return t(`${stem}.${form}` as TextKey, { count: new Intl.NumberFormat(language).format(count) });
}

export const currentLanguage = (): Language => language;

/** The language with the reader's own country, which decides how dates and hours are written. */
export const currentLocale = (): string =>
  navigator.languages.find((each) => each.split('-')[0] === language) ?? language;

export const useLanguage = (): Language =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => language,
  );

export async function chooseLanguage(next: Language): Promise<void> {
  remember('language', next);
  await load(next);
}

/** Loads the remembered language, else the browser's, else English. */
export async function loadLanguage(): Promise<void> {
  const wanted = recall<Language>('language') ?? navigator.language.slice(0, 2);
  await load(wanted === 'de' ? 'de' : 'en');
}

async function load(next: Language): Promise<void> {
  texts = next === 'de' ? (await import('./german.ts')).german : english;
  language = next;
  document.documentElement.lang = next;
  for (const listener of listeners) listener();
}
