import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { Static, TSchema } from 'typebox';
import { fail, Failure, type Detail } from './errors.ts';
import { isLongInteger, pointerStep } from './json.ts';
import { sizeText } from './json-schema-errors.ts';

const ajv = new Ajv({ allErrors: true, strict: false, verbose: false });
const compiled = new WeakMap<object, ValidateFunction>();

/**
 * Checks a value of our own shapes; throws request.invalid that names every wrong field. A Failure in place of the value
 * says why there is none, and is thrown.
 */
export function check<T extends TSchema>(schema: T, value: unknown, where = ''): Static<T> {
  if (value instanceof Failure) throw value;
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
  const told = new Map<string, Detail>();
  for (const detail of inUnions(errors, where)) told.set(`${detail.path} ${detail.message}`, detail);
  return [...told.values()];
}

/** A union reports every branch; only the findings of the branch that was meant are of use. */
function inUnions(errors: ErrorObject[], where: string): Detail[] {
  const unions = errors.filter(({ keyword }) => keyword === 'anyOf');
  const [union] = unions.sort((a, b) => a.schemaPath.length - b.schemaPath.length);
  if (!union) return errors.map((error) => oneDetail(error, where));
  const inside = (error: ErrorObject): boolean => error.schemaPath.startsWith(`${union.schemaPath}/`);
  const branches = Map.groupBy(
    errors.filter(inside),
    ({ schemaPath }) => schemaPath.slice(union.schemaPath.length + 1).split('/')[0]!,
  );
  const others = errors.filter((error) => error !== union && !inside(error));
  return [...inUnions(others, where), ...ofBranches([...branches.values()], where)];
}

function ofBranches(branches: ErrorObject[][], where: string): Detail[] {
  const tag = tagOf(branches);
  if (tag === undefined) return common(branches.map((errors) => inUnions(errors, where)));
  const wrong = branches.map((errors) => errors.find((error) => isConst(error) && error.instancePath === tag));
  const meant = branches.filter((_, index) => wrong[index] === undefined);
  if (meant.length > 0) return common(meant.map((errors) => inUnions(errors, where)));
  const values = wrong.map((error) => JSON.stringify((error!.params as { allowedValue: unknown }).allowedValue));
  return [{ path: where + tag, message: `must be one of ${[...new Set(values)].join(', ')}` }];
}

/** The place by which most branches of a union tell themselves apart: a field with one possible value. */
function tagOf(branches: ErrorObject[][]): string | undefined {
  const votes = Map.groupBy(
    branches.flatMap((errors) => [...new Set(errors.filter(isConst).map(({ instancePath }) => instancePath))]),
    (path) => path,
  );
  return [...votes.values()].sort((a, b) => b.length - a.length)[0]?.[0];
}

/** What all branches complain about, if there is anything; else everything. */
function common(branches: Detail[][]): Detail[] {
  const same = (a: Detail) => (b: Detail) => a.path === b.path && a.message === b.message;
  const shared = branches[0]!.filter((detail) => branches.every((each) => each.some(same(detail))));
  return shared.length > 0 ? shared : branches.flat();
}

const isConst = ({ keyword }: ErrorObject): boolean => keyword === 'const';

function oneDetail(error: ErrorObject, where: string): Detail {
  const params = error.params as Record<string, unknown>;
  if (error.keyword === 'additionalProperties')
    return {
      path: `${where}${error.instancePath}/${pointerStep(String(params['additionalProperty']))}`,
      message: 'is not a known field',
    };
  if (error.keyword === 'required')
    return {
      path: `${where}${error.instancePath}/${pointerStep(String(params['missingProperty']))}`,
      message: 'is missing',
    };
  if (error.keyword === 'const')
    return { path: where + error.instancePath, message: `must be ${JSON.stringify(params['allowedValue'])}` };
  return { path: where + error.instancePath, message: sizeText(error) ?? error.message ?? 'is not valid' };
}

/**
 * Refuses what no stored text may hold: NUL, lone surrogates, and nesting that would break recursive readers.
 * Throws request.invalid with the path.
 */
export function checkText(value: unknown, where = '', maxDepth = 128): void {
  // Places are only made when one is to be told.
  if (!isStorable(value, maxDepth)) refuseText(value, where, maxDepth);
}

function isStorable(value: unknown, levels: number): boolean {
  if (typeof value === 'string') return isStorableText(value);
  if (typeof value !== 'object' || value === null) return true;
  if (levels <= 0) return false;
  if (Array.isArray(value)) {
    for (const each of value) if (!isStorable(each, levels - 1)) return false;
    return true;
  }
  for (const key of Object.keys(value))
    if (!isStorableText(key) || !isStorable((value as Record<string, unknown>)[key], levels - 1)) return false;
  return true;
}

const isStorableText = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

function refuseText(value: unknown, where: string, maxDepth: number): void {
  const stack: { value: unknown; path: string; depth: number }[] = [{ value, path: where, depth: 0 }];
  for (let next = stack.pop(); next; next = stack.pop()) {
    const { value, path, depth } = next;
    if (typeof value === 'string') checkString(value, path);
    if (typeof value !== 'object' || value === null) continue;
    if (depth >= maxDepth) throw invalid(path.slice(0, 200), `is nested deeper than ${maxDepth} levels`);
    for (const [key, child] of Object.entries(value)) {
      checkString(key, path);
      stack.push({ value: child, path: `${path}/${pointerStep(key)}`, depth: depth + 1 });
    }
  }
}

/** True when a value is nested too deeply for recursive readers. Looks no deeper than that itself. */
export function isTooDeep(value: unknown, levels = 256): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels < 0) return true;
  for (const key in value) if (isTooDeep((value as Record<string, unknown>)[key], levels - 1)) return true;
  return false;
}

/** True when arguments are nested too deeply, or hold an integer that was kept as it is written: no tool can take them. */
export function isUnfit(value: unknown, levels = 256): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels < 0 || isLongInteger(value)) return true;
  for (const key in value) if (isUnfit((value as Record<string, unknown>)[key], levels - 1)) return true;
  return false;
}

function checkString(text: string, path: string): void {
  if (text.includes('\0')) throw invalid(path, 'holds a NUL character');
  if (!text.isWellFormed()) throw invalid(path, 'holds half of a surrogate pair');
}

function invalid(path: string, message: string): Error {
  return fail('request.invalid', { reason: `${path} ${message}` }, { details: [{ path, message }] });
}
