import { englishCare } from './english-care.ts';
import { englishWork } from './english-work.ts';

/** Every text of the page, by key; other languages have exactly the same keys. */
export const english = { ...englishWork, ...englishCare };
export type TextKey = keyof typeof english;
