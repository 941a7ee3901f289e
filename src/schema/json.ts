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
export function textOf(value: unknown): string {
  if (isLongInteger(value)) return value.rawJSON;
  return value === undefined || value === null || typeof value === 'object' ? '' : String(value);
}

/** What a stranger wrote where a number belongs; NaN when it is none. */
export function numberOf(value: unknown): number {
  if (isLongInteger(value)) return Number(value.rawJSON);
  return typeof value === 'object' ? Number.NaN : Number(value);
}

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

/** What the engine has and the language's types do not yet name. */
const engine = JSON as unknown as {
  parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown;
  rawJSON(text: string): object;
  isRawJSON(value: unknown): value is { rawJSON: string };
};

const longDigits = /9\d{15}|\d{17}/;
const longInteger = /^-?\d{16,}$/;

/** A quick test that is nearly always false: only then need a JSON text be read exactly. */
export const mayHoldLongInteger = (text: string): boolean => longDigits.test(text);

/**
 * JSON.parse, except that an integer which JavaScript would write differently than it stands there is kept as it is
 * written, as an object for which `isLongInteger` is true and which JSON.stringify writes unchanged.
 */
export const parseExactly = (text: string): unknown => parseKeeping(text, (digits) => engine.rawJSON(digits));

/** JSON.parse for what is read by programs and people, except that such an integer becomes a text of its digits. */
export const parseForReaders = (text: string): unknown => parseKeeping(text, (digits) => digits);

/** The same, with whatever `keep` makes of such an integer in its place. */
export function parseKeeping(text: string, keep: (digits: string) => unknown): unknown {
  if (!mayHoldLongInteger(text)) return JSON.parse(text);
  try {
    return engine.parse(text, (_key, value, { source = '' }) =>
      longInteger.test(source) && String(value) !== source ? keep(source) : value,
    );
  } catch (error) {
    // Nested more deeply than the engine can look twice: for every reader of ours that is too deep.
    if (error instanceof RangeError) return JSON.parse(text);
    throw error;
  }
}

/** An integer of any length: a number where that says the same, else kept as it is written. */
export function exactInteger(value: bigint): unknown {
  return String(Number(value)) === String(value) ? Number(value) : engine.rawJSON(String(value));
}

/** What of a JSON-RPC message is handed on or said again as it is written. */
const handedOn = [
  ['id'],
  ['params', 'arguments'],
  ['params', 'inputResponses'],
  ['params', '_meta', 'progressToken'],
  ['result'],
] as const;

/** One JSON-RPC message or several; what is handed on is read exactly, all else as JSON.parse does. */
export function parseRpc(text: string): unknown {
  const parsed: unknown = JSON.parse(text);
  if (!mayHoldLongInteger(text)) return parsed;
  const exact = [parseExactly(text)].flat();
  [parsed].flat().forEach((message, i) => {
    for (const path of handedOn) {
      const value = valueAt(exact[i], path);
      if (value !== undefined) (valueAt(message, path.slice(0, -1)) as Record<string, unknown>)[path.at(-1)!] = value;
    }
  });
  return parsed;
}

/** True for an integer that `parseExactly` kept as it is written. */
export const isLongInteger = (value: unknown): value is { rawJSON: string } => engine.isRawJSON(value);

/** The value as JSON.parse would have read it; the same object when no integer in it was kept as it is written. */
export function roundLongIntegers<T>(value: T): T {
  try {
    return rounded(value) as T;
  } catch (error) {
    // Nested more deeply than anyone could read who would have to be spared.
    if (error instanceof RangeError) return value;
    throw error;
  }
}

function rounded(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (isLongInteger(value)) return Number(value.rawJSON);
  if (Array.isArray(value)) {
    const items = value.map(rounded);
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  let isChanged = false;
  const entries = Object.entries(value).map(([key, item]) => {
    const other = rounded(item);
    isChanged ||= other !== item;
    return [key, other] as const;
  });
  return isChanged ? Object.fromEntries(entries) : value;
}

/** An integer that was kept as it is written. */
export interface LongInteger {
  /** Its place, as a JSON Pointer. */
  path: string;
  /** Its digits; cut where there are too many to be shown. */
  digits: string;
}

/** The first integer that was kept as it is written, but for those that stand right at keys where it does not matter. */
export function findLongInteger(
  value: unknown,
  path: string,
  except?: ReadonlySet<string>,
  levels = 256,
): LongInteger | undefined {
  if (isLongInteger(value)) {
    const { rawJSON: digits } = value;
    return { path, digits: digits.length > mostShown ? `${digits.slice(0, mostShown)}...` : digits };
  }
  if (typeof value !== 'object' || value === null || levels < 0) return undefined;
  for (const [key, item] of Object.entries(value)) {
    if (except?.has(key) && isLongInteger(item)) continue;
    const found = findLongInteger(item, `${path}/${pointerStep(key)}`, except, levels - 1);
    if (found) return found;
  }
  return undefined;
}

const mostShown = 40;
/** Schemas of other makers name the bounds of 64-bit integers; rounded, they let the same numbers pass. */
const bounds = new Set(['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum']);

/** The first integer of a JSON text that is to be stored, but would be stored as another one. */
export const lostWhenStored = (text: string): LongInteger | undefined =>
  mayHoldLongInteger(text) ? findLongInteger(parseExactly(text), '', bounds) : undefined;
