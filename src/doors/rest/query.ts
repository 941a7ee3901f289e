import { fail } from '../../schema/index.ts';

type Query = Record<string, string | string[] | undefined>;

export const maxPageSize = 256;

/** Comma-separated and repeated values as one list. */
export function listParam(query: unknown, name: string): string[] {
  return [(query as Query)[name] ?? []]
    .flat()
    .flatMap((each) => each.split(','))
    .map((each) => each.trim())
    .filter((each) => each !== '');
}

/** The last of repeated values. */
export function textParam(query: unknown, name: string): string | undefined {
  const value = (query as Query)[name];
  return Array.isArray(value) ? value.at(-1) : value;
}

export function flagParam(query: unknown, name: string): boolean {
  const value = textParam(query, name);
  if (value === undefined || value === 'false' || value === '0') return false;
  if (value === 'true' || value === '1' || value === '') return true;
  throw invalid(name, 'must be true or false', value);
}

/** Larger than 256 is clamped; below 1 or no whole number is refused. */
export function pageSizeParam(query: unknown, name: string): number | undefined {
  const value = textParam(query, name);
  if (value === undefined) return undefined;
  if (!/^\d{1,64}$/.test(value) || Number(value) < 1) throw invalid(name, 'must be a whole number from 1', value);
  return Math.min(Number(value), maxPageSize);
}

function invalid(name: string, message: string, value: string): Error {
  const details = [{ path: `/${name}`, message }];
  return fail('request.invalid', { reason: `${name} ${message} (${value.slice(0, 50)})` }, { details });
}
