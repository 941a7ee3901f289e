import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { Static, TSchema } from 'typebox';
import { fail, type Detail } from './errors.ts';

const ajv = new Ajv({ allErrors: true, strict: false, verbose: false });
const compiled = new WeakMap<object, ValidateFunction>();

/** Checks a value of our own shapes; throws request.invalid that names every wrong field. */
export function check<T extends TSchema>(schema: T, value: unknown, where = ''): Static<T> {
  let validate = compiled.get(schema);
  if (!validate) compiled.set(schema, (validate = ajv.compile(schema)));
  if (validate(value)) return value as Static<T>;
  const details = describe(validate.errors ?? [], where);
  throw fail('request.invalid', { reason: reasonOf(details) }, { details });
}

/** One line for the message: the first few details, the rest counted. */
export function reasonOf(details: Detail[]): string {
  const shown = details.slice(0, 3).map(({ path, message }) => (path ? `${path} ${message}` : message));
  const rest = details.length - shown.length;
  return shown.join('; ') + (rest > 0 ? `; and ${rest} more` : '');
}

function describe(errors: ErrorObject[], where: string): Detail[] {
  // A union reports every branch; the branches' own findings say more than "must match one".
  const useful = errors.filter(({ keyword }) => keyword !== 'anyOf' && keyword !== 'const');
  const seen = new Set<string>();
  const details: Detail[] = [];
  for (const error of useful.length > 0 ? useful : errors) {
    const detail = oneDetail(error, where);
    const key = `${detail.path} ${detail.message}`;
    if (!seen.has(key)) details.push(detail);
    seen.add(key);
  }
  return details;
}

function oneDetail(error: ErrorObject, where: string): Detail {
  const params = error.params as Record<string, unknown>;
  if (error.keyword === 'additionalProperties')
    return { path: `${where}${error.instancePath}/${escape(params['additionalProperty'])}`, message: 'is not a known field' };
  if (error.keyword === 'required')
    return { path: `${where}${error.instancePath}/${escape(params['missingProperty'])}`, message: 'is missing' };
  if (error.keyword === 'const')
    return { path: where + error.instancePath, message: `must be ${JSON.stringify(params['allowedValue'])}` };
  return { path: where + error.instancePath, message: error.message ?? 'is not valid' };
}

const escape = (key: unknown): string => String(key).replaceAll('~', '~0').replaceAll('/', '~1');

/**
 * Refuses what no stored text may hold: NUL, lone surrogates, and nesting that would break recursive readers.
 * Throws request.invalid with the path.
 */
export function checkText(value: unknown, where = '', maxDepth = 128): void {
  const stack: { value: unknown; path: string; depth: number }[] = [{ value, path: where, depth: 0 }];
  for (let next = stack.pop(); next; next = stack.pop()) {
    const { value, path, depth } = next;
    if (typeof value === 'string') checkString(value, path);
    if (typeof value !== 'object' || value === null) continue;
    if (depth >= maxDepth) throw invalid(path.slice(0, 200), `is nested deeper than ${maxDepth} levels`);
    for (const [key, child] of Object.entries(value)) {
      checkString(key, path);
      stack.push({ value: child, path: `${path}/${escape(key)}`, depth: depth + 1 });
    }
  }
}

/** True when a value is nested deeper than recursive readers can stand. Looks no deeper than that itself. */
export function isTooDeep(value: unknown, levels = 256): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels < 0) return true;
  for (const key in value) if (isTooDeep((value as Record<string, unknown>)[key], levels - 1)) return true;
  return false;
}

function checkString(text: string, path: string): void {
  if (text.includes('\0')) throw invalid(path, 'holds a NUL character');
  if (!text.isWellFormed()) throw invalid(path, 'holds half of a surrogate pair');
}

function invalid(path: string, message: string): Error {
  return fail('request.invalid', { reason: `${path} ${message}` }, { details: [{ path, message }] });
}
