/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };
/** A JSON Schema as users write it; checked by compiling it. */
export type JsonSchema = boolean | object;

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A value as text for a reader: a string as it is, everything else as JSON. */
export const jsonText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** What a stranger wrote where a text belongs. `String` would throw for `{"toString": 1}`. */
export const textOf = (value: unknown): string =>
  value === undefined || value === null || typeof value === 'object' ? '' : String(value);

/** What a stranger wrote where a number belongs; NaN when it is none. */
export const numberOf = (value: unknown): number => (typeof value === 'object' ? Number.NaN : Number(value));

/** Why a text is no JSON, without the piece of the text that the engine quotes: it may hold half of a secret. */
export function jsonFault(error: unknown): string {
  const { message } = error as Error;
  const why = message.replace(/,? ?(?:\.\.\.)?"[^]*"(?:\.\.\.)? is not valid JSON$/, '');
  return why === '' ? 'it is no JSON value' : why;
}

/** A key as one step of a JSON Pointer. */
export const pointerStep = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');

/** The key behind one step of a JSON Pointer. */
export const pointerKey = (step: string): string => step.replaceAll('~1', '/').replaceAll('~0', '~');

/** The value at a path of keys; undefined unless every step is an own property. */
export function valueAt(root: unknown, keys: readonly string[]): unknown {
  let found = root;
  for (const key of keys) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
    found = (found as Record<string, unknown>)[key];
  }
  return found;
}
