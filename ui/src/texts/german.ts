import type { TextKey } from './english.ts';
import { germanCare } from './german-care.ts';
import { germanWork } from './german-work.ts';

export const german: Record<TextKey, string> = { ...germanWork, ...germanCare };
