import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { Failure, inspectSchema, isObject, pointerKey, valueAt, type JsonSchema } from '../../schema/index.ts';

const largest = 256 * 1024;
const deepest = 64;
const options = { strict: false, validateFormats: false, logger: false } as const;
let draft7: Ajv | undefined;
let draft2020: Ajv2020 | undefined;

/** Why a tool with this schema cannot be offered; undefined when it can. Cheap: nothing is compiled. */
export function schemaProblem(schema: unknown): string | undefined {
  return isObject(schema) && schema['type'] !== undefined && schema['type'] !== 'object'
    ? `the input schema is of type ${JSON.stringify(schema['type'])}, not object`
    : unusable(schema);
}

/** Whether answers can be held against this schema. */
export const isUsableOutput = (schema: unknown): schema is Record<string, unknown> =>
  isObject(schema) && unusable(schema) === undefined;

function unusable(schema: unknown): string | undefined {
  if (!isObject(schema)) return 'the input schema is not an object';
  const text = JSON.stringify(schema);
  const size = text.length;
  if (size > largest) return `the input schema has ${size} bytes, at most ${largest} are taken`;
  const walked = walk(schema, schema, 0);
  if (walked) return walked;
  const endless = text.includes('"$ref"') ? endlessProblem(schema, text) : undefined;
  if (endless) return endless;
  const checker = String(schema['$schema'] ?? '').includes('2020-12')
    ? (draft2020 ??= new Ajv2020(options))
    : (draft7 ??= new Ajv(options));
  const { $schema: _, ...rest } = schema;
  if (checker.validateSchema(rest)) return undefined;
  const first = checker.errors?.[0];
  return `the input schema is not valid: ${first?.instancePath || '/'} ${first?.message ?? ''}`.trim();
}

/** References that lead in a circle, and what else the validator would refuse at the first call. */
function endlessProblem(schema: Record<string, unknown>, text: string): string | undefined {
  try {
    inspectSchema(schema, text, '');
    return undefined;
  } catch (error) {
    return `the input schema ${error instanceof Failure ? (error.details[0]?.message ?? error.message) : 'cannot be read'}`;
  }
}

/** The schema to validate against: an absent one takes any object. */
export function argumentSchema(schema: unknown): JsonSchema {
  return isObject(schema) ? schema : { type: 'object' };
}

function walk(node: unknown, root: Record<string, unknown>, depth: number): string | undefined {
  if (depth > deepest) return `the input schema is nested more than ${deepest} deep`;
  if (typeof node !== 'object' || node === null) return undefined;
  if (!Array.isArray(node)) {
    const ref = (node as Record<string, unknown>)['$ref'];
    if (typeof ref === 'string' && !resolves(ref, root))
      return `the input schema refers to ${ref.slice(0, 100)}, which is not in it`;
  }
  for (const value of Object.values(node)) {
    const problem = walk(value, root, depth + 1);
    if (problem) return problem;
  }
  return undefined;
}

function resolves(ref: string, root: Record<string, unknown>): boolean {
  if (ref === '#') return true;
  // References by anchor or id are left to the validator.
  if (!ref.startsWith('#/')) return ref.startsWith('#');
  const keys = ref
    .slice(2)
    .split('/')
    .map((part) => pointerKey(decoded(part)));
  return valueAt(root, keys) !== undefined;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
