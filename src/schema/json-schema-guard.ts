import { fail } from './errors.ts';
import { isObject, pointerStep, type JsonSchema } from './json.ts';
import { costOf, stepKeyword } from './json-schema-budget.ts';
import { dialectOf, keywordsOf, type Dialect } from './json-schema-dialect.ts';
import { maxPatternsSize, patternSize } from './safe-pattern.ts';

/** What a schema may have at most. */
export const schemaLimits = { characters: 256 * 1024, depth: 64, subschemas: 2000, branches: 500 };

const oneSchema = new Set([
  'not',
  'if',
  'then',
  'else',
  'items',
  'additionalItems',
  'contains',
  'additionalProperties',
  'propertyNames',
  'unevaluatedItems',
  'unevaluatedProperties',
  'contentSchema',
]);
const listOfSchemas = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items']);
const mapOfSchemas = new Set([
  'properties',
  'patternProperties',
  'definitions',
  '$defs',
  'dependentSchemas',
  'dependencies',
]);
const schemaKeywords = oneSchema.union(listOfSchemas).union(mapOfSchemas);
const isSchemaKeyword = (key: string): boolean => schemaKeywords.has(key);
/** Keywords whose schema looks at the same value again. */
const inPlace = new Set(['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentSchemas', 'dependencies']);

/** What a look through a schema found. */
export interface Inspected {
  /** A copy in which every subschema counts a step, so that checking can be stopped. */
  counted: JsonSchema;
  hasDefaults: boolean;
  dialect: Dialect;
}

/**
 * Refuses schemas that would cost too much to compile or never end, and answers what compiling needs to know.
 * `at` is where the schema stands in the request, for the places of errors.
 */
export function inspectSchema(schema: unknown, text: string, at: string): Inspected {
  const refuse = (place: string, reason: string): Error => refusalAt(at, place, reason);
  if (text.length > schemaLimits.characters)
    throw refuse('#', `has ${text.length} characters, at most ${schemaLimits.characters} are taken. Make it shorter.`);
  const dialect = dialectOf(schema);
  if (!dialect)
    throw refuse(
      '#/$schema',
      'names a dialect that is not supported. Use draft-07 (leave $schema out) or https://json-schema.org/draft/2020-12/schema.',
    );
  const names = text.match(/"\$id"/g)?.length ?? 0;
  const isOneResource = names === 0 || (names === 1 && isObject(schema) && Object.hasOwn(schema, '$id'));
  const state: Walk = {
    schemas: 0,
    patternSize: 0,
    hasDefaults: false,
    edges: new Map(),
    refuse,
    dialect,
    isOneResource,
  };
  const counted = walk(schema, '#', 0, state) as JsonSchema;
  refuseLoops(state);
  if (isObject(counted)) delete counted['$schema'];
  return { counted, dialect, hasDefaults: state.hasDefaults };
}

interface Walk {
  schemas: number;
  patternSize: number;
  hasDefaults: boolean;
  /** From the place of a schema to the places that are applied to the same value. */
  edges: Map<string, string[]>;
  refuse: (place: string, reason: string) => Error;
  dialect: Dialect;
  isOneResource: boolean;
}

function walk(schema: unknown, at: string, depth: number, state: Walk): unknown {
  if (typeof schema === 'boolean') return schema;
  if (!isObject(schema)) throw state.refuse(at, 'must be an object, true or false.');
  if (depth > schemaLimits.depth)
    throw state.refuse(at, `is nested deeper than ${schemaLimits.depth} levels. Make it flatter.`);
  if (++state.schemas > schemaLimits.subschemas)
    throw state.refuse(at, `has more than ${schemaLimits.subschemas} parts. Make it smaller.`);
  const copy: Record<string, unknown> = {};
  const edges: string[] = [];
  const keywords = keywordsOf(schema, state.dialect, state.isOneResource, isSchemaKeyword);
  for (const [key, value] of keywords) {
    if (key === 'default') state.hasDefaults = true;
    if (key === 'pattern' && typeof value === 'string') countPattern(value, `${at}/${key}`, state);
    if (key === '$ref' && typeof value === 'string' && value.startsWith('#')) edges.push(normalized(value));
    put(copy, key, isSchemaKeyword(key) ? walkKeyword(key, value, `${at}/${key}`, depth, state, edges) : value);
  }
  if (depth > 0) copy[stepKeyword] = costOf(keywords, isSchemaKeyword);
  else delete copy[stepKeyword];
  if (edges.length > 0) state.edges.set(at, edges);
  return copy;
}

function walkKeyword(key: string, value: unknown, at: string, depth: number, state: Walk, edges: string[]): unknown {
  if (Array.isArray(value)) {
    if (!listOfSchemas.has(key)) return value;
    if (value.length > schemaLimits.branches)
      throw state.refuse(
        at,
        `has ${value.length} branches, at most ${schemaLimits.branches} are taken. Use enum for plain values.`,
      );
    return value.map((each, index) => {
      if (inPlace.has(key)) edges.push(`${at}/${index}`);
      return walk(each, `${at}/${index}`, depth + 1, state);
    });
  }
  if (isObject(value) && mapOfSchemas.has(key)) return walkMap(key, value, at, depth, state, edges);
  if (!oneSchema.has(key) || !(isObject(value) || typeof value === 'boolean')) return value;
  if (inPlace.has(key)) edges.push(at);
  return walk(value, at, depth + 1, state);
}

function walkMap(
  key: string,
  map: Record<string, unknown>,
  at: string,
  depth: number,
  state: Walk,
  edges: string[],
): unknown {
  const copy: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(map)) {
    const child = `${at}/${pointerStep(name)}`;
    if (key === 'patternProperties') countPattern(name, child, state);
    // `dependencies` may list names instead of holding a schema.
    if (Array.isArray(value) && key === 'dependencies') {
      put(copy, name, value);
      continue;
    }
    if (inPlace.has(key)) edges.push(child);
    const part = walk(value, child, depth + 1, state);
    // A default for this name would replace the prototype of the arguments.
    if (name === '__proto__' && isObject(part)) delete part['default'];
    put(copy, name, part);
  }
  return copy;
}

function countPattern(pattern: string, at: string, state: Walk): void {
  state.patternSize += patternSize(pattern);
  if (state.patternSize > maxPatternsSize)
    throw state.refuse(at, 'makes the patterns too large together. Repeat less in them, or use fewer.');
}

/** A schema that leads back to itself without stepping into the value would be checked for ever. */
function refuseLoops(state: Walk): void {
  const done = new Set<string>();
  const open = new Set<string>();
  const visit = (at: string): void => {
    if (done.has(at)) return;
    if (open.has(at)) throw state.refuse(at, 'leads back to itself through $ref without an end. Break the circle.');
    open.add(at);
    for (const next of state.edges.get(at) ?? []) visit(next);
    open.delete(at);
    done.add(at);
  };
  for (const at of state.edges.keys()) visit(at);
}

function normalized(ref: string): string {
  try {
    const pointer = decodeURIComponent(ref);
    return pointer.length > 1 && pointer.endsWith('/') ? pointer : pointer.replace(/^#\/$/, '#');
  } catch {
    return ref;
  }
}

function put(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== '__proto__') target[key] = value;
  else Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
}

function refusalAt(root: string, place: string, reason: string): Error {
  const path = `${root}${place.slice(1)}` || '/';
  return fail(
    'request.invalid',
    { reason: `${root.slice(1) || 'the schema'} is no usable JSON Schema: ${path} ${reason}` },
    { details: [{ path, message: reason }] },
  );
}
