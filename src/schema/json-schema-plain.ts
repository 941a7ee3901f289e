import { isObject } from './json.ts';
import { isPattern } from './safe-pattern.ts';

const annotations = new Set(['title', 'description', 'default', 'examples', '$comment', 'readOnly', 'writeOnly', 'deprecated']);
const plainValues = new Set([
  'type', 'const', 'required', 'format', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf',
  'minLength', 'maxLength', 'minItems', 'maxItems', 'uniqueItems', 'minProperties', 'maxProperties',
]); // prettier-ignore
const oneSchema = new Set(['items', 'additionalProperties', 'not']);
const schemaLists = new Set(['allOf', 'anyOf', 'oneOf']);
const schemaMaps = new Set(['properties', '$defs', 'definitions']);

/**
 * True when a schema that fits the schema of schemas compiles for sure: it is made of well-known keywords alone, and
 * every `$ref` leads to a schema inside it. Compiling can then wait until a value is checked; it costs milliseconds.
 */
export function compilesForSure(schema: unknown, stepKeyword: string): boolean {
  const seen = new Set<unknown>();
  const refs: string[] = [];
  const look = (part: unknown): boolean => {
    if (typeof part === 'boolean') return true;
    if (!isObject(part)) return false;
    seen.add(part);
    return Object.entries(part).every(([key, value]) => {
      if (annotations.has(key) || plainValues.has(key) || key === stepKeyword) return true;
      if (key === 'enum') return Array.isArray(value) && value.length > 0;
      if (key === 'pattern') return typeof value === 'string' && isPattern(value);
      if (oneSchema.has(key)) return look(value);
      if (schemaLists.has(key)) return Array.isArray(value) && value.every(look);
      if (schemaMaps.has(key)) return isObject(value) && Object.entries(value).every(([name, each]) => name !== '__proto__' && look(each));
      if (key === '$ref' && typeof value === 'string') return refs.push(value) > 0;
      return false;
    });
  };
  return look(schema) && refs.every((ref) => seen.has(target(schema, ref)));
}

/** What a `$ref` into the same schema leads to; undefined for everything else. */
function target(schema: unknown, ref: string): unknown {
  if (!/^#(\/|$)/.test(ref) || ref.includes('%')) return undefined;
  let found: unknown = schema;
  for (const step of ref.split('/').slice(1)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (!isObject(found) || !Object.hasOwn(found, key)) return undefined;
    found = found[key];
  }
  return found;
}
