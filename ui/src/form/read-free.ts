import { t } from '../texts/index.ts';
import { longIntegers, tooLong } from './long-integer.ts';

/** What free text means: JSON, or a plain text; what only begins like JSON, or would be changed, is neither. */
export function readFree(text: string): { value?: unknown; fault?: string } {
  if (text.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    const [long] = longIntegers(text);
    return long ? { fault: tooLong(long.digits) } : { value };
  } catch {
    return /^[[{"]/.test(text.trim()) ? { fault: t('form.notJson') } : { value: text };
  }
}
