import { isObject } from '../../../schema/index.ts';
import type { ApiDocument, Value } from './document.ts';

const types = new Set(['string', 'number', 'integer', 'boolean', 'array', 'object', 'null']);
const counts = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'];
const numbers = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'];
const maxDescription = 600;
const maxDepth = 24;

/**
 * Turns the schemas of one document into JSON Schema that compiles: what a document says wrong or what only
 * OpenAPI knows is left out. References become `$defs` of the tool; when those would grow beyond a size that a
 * model or a disk can bear, deeper ones are left open ("any value").
 */
export class SchemaReader {
  readonly #document: ApiDocument;
  readonly #maxBytes: number;
  /** Converted targets of references, kept while one document is read. */
  readonly #targets = new Map<string, Target>();

  constructor(document: ApiDocument, maxBytes = 24_000) {
    this.#document = document;
    this.#maxBytes = maxBytes;
  }

  /** A schema whose references are left as they are, ready for `close`. */
  read(schema: unknown): Value {
    return convert(schema, 0);
  }

  /** Adds the definitions that a schema refers to. `isCut` says that some were left open. */
  close(schema: Value): { schema: Value; isCut: boolean } {
    const wanted = refsIn(schema);
    if (wanted.length === 0) return { schema, isCut: false };
    const names = new Map<string, string>();
    const found = new Map<string, Target | undefined>();
    let left = this.#maxBytes;
    let isCut = false;
    let isUsual = true;
    for (let at = 0; at < wanted.length; at++) {
      const ref = wanted[at] as string;
      if (names.has(ref)) continue;
      const target = this.#target(ref);
      const usual = target?.name ?? usualName(ref);
      const name = uniqueName(usual, found);
      isUsual &&= name === usual;
      names.set(ref, name);
      if (!target || target.bytes > left) {
        found.set(name, undefined);
        isCut ||= target !== undefined;
        continue;
      }
      left -= target.bytes;
      found.set(name, target);
      wanted.push(...target.refs);
    }
    const nameOf = (ref: string): string => names.get(ref) ?? 'unknown';
    const $defs = Object.fromEntries(
      Array.from(found, ([name, target]) => {
        if (!target) return [name, {}];
        return [name, isUsual ? target.named : rename(target.schema, nameOf)];
      }),
    );
    return { schema: { ...(rename(schema, nameOf) as Value), $defs }, isCut };
  }

  #target(ref: string): Target | undefined {
    const known = this.#targets.get(ref);
    if (known) return known;
    const found = this.#document.at(ref);
    if (found === undefined) return undefined;
    const schema = convert(found, 0);
    const made: Target = {
      schema,
      refs: refsIn(schema),
      bytes: JSON.stringify(schema).length,
      name: usualName(ref),
      named: rename(schema, usualName) as Value,
    };
    this.#targets.set(ref, made);
    return made;
  }
}

/** What a reference leads to. */
interface Target {
  schema: Value;
  refs: string[];
  bytes: number;
  name: string;
  /** The schema as nearly every tool has it: one object for all. */
  named: Value;
}

function convert(schema: unknown, depth: number): Value {
  if (!isObject(schema) || depth > maxDepth) return {};
  if (typeof schema['$ref'] === 'string') return schema['$ref'].startsWith('#/') ? { $ref: schema['$ref'] } : {};
  const made: Value = {};
  const type = typeOf(schema);
  if (type !== undefined) made['type'] = type;
  const description = describe(schema);
  if (description !== '') made['description'] = description;
  if (Array.isArray(schema['enum'])) readEnum(schema, made);
  if (schema['const'] !== undefined) made['const'] = schema['const'];
  if (typeof schema['format'] === 'string' && schema['format'].length < 40) made['format'] = schema['format'];
  for (const key of counts) if (Number.isInteger(schema[key]) && (schema[key] as number) >= 0) made[key] = schema[key];
  for (const key of numbers)
    if (typeof schema[key] === 'number' && Number.isFinite(schema[key])) made[key] = schema[key];
  // In 3.0 these two are flags beside minimum and maximum.
  for (const [flag, bound] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const)
    if (schema[flag] === true && typeof made[bound] === 'number') {
      made[flag] = made[bound];
      delete made[bound];
    }
  if (typeof schema['multipleOf'] === 'number' && schema['multipleOf'] > 0) made['multipleOf'] = schema['multipleOf'];
  if (typeof schema['pattern'] === 'string' && isPattern(schema['pattern'])) made['pattern'] = schema['pattern'];
  if (schema['uniqueItems'] === true) made['uniqueItems'] = true;
  if (isObject(schema['items'])) made['items'] = convert(schema['items'], depth + 1);
  readProperties(schema, made, depth);
  for (const key of ['oneOf', 'anyOf', 'allOf'] as const) {
    const branches = Array.isArray(schema[key]) ? schema[key].filter(isObject) : [];
    if (branches.length > 0) made[key] = branches.map((each) => convert(each, depth + 1));
  }
  return made;
}

function typeOf(schema: Value): unknown {
  const given = (Array.isArray(schema['type']) ? schema['type'] : [schema['type']]).filter((each) =>
    types.has(each as string),
  );
  const all = [...new Set(given)] as string[];
  if (all.length === 0) return isObject(schema['properties']) ? 'object' : undefined;
  if ((schema['nullable'] === true || schema['x-nullable'] === true) && !all.includes('null')) all.push('null');
  return all.length === 1 ? all[0] : all;
}

function readEnum(schema: Value, made: Value): void {
  const texts = new Map((schema['enum'] as unknown[]).map((each) => [JSON.stringify(each), each]));
  if (schema['nullable'] === true) texts.set('null', null);
  // An enum that contradicts its own type would refuse every value.
  const fits = [...texts.values()].filter(
    (each) => made['type'] === undefined || [made['type']].flat().some((type) => isOfType(each, type as string)),
  );
  if (fits.length > 0 && fits.length <= 500) made['enum'] = fits;
}

function isOfType(value: unknown, type: string): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return isObject(value);
  return type === 'integer' ? Number.isInteger(value) : typeof value === type;
}

function readProperties(schema: Value, made: Value, depth: number): void {
  const { properties, additionalProperties, required } = schema;
  if (isObject(properties)) {
    // What only the server sets is no argument.
    const own = Object.entries(properties).filter(([, each]) => isObject(each) && each['readOnly'] !== true);
    if (own.length > 0)
      made['properties'] = Object.fromEntries(own.map(([name, each]) => [name, convert(each, depth + 1)]));
    const names = Array.isArray(required)
      ? [...new Set(required.filter((each) => typeof each === 'string' && own.some(([name]) => name === each)))]
      : [];
    if (names.length > 0) made['required'] = names;
  }
  if (isObject(additionalProperties)) made['additionalProperties'] = convert(additionalProperties, depth + 1);
  else if (additionalProperties === false && made['properties'] !== undefined) made['additionalProperties'] = false;
}

/** The description, with the default said in words: it is the API's to apply, not ours. */
function describe(schema: Value): string {
  const text = typeof schema['description'] === 'string' ? shorten(schema['description'], maxDescription) : '';
  const value = schema['default'];
  if (value === undefined || value === null || value === '' || typeof value === 'object') return text;
  return `${text}${text === '' ? '' : ' '}(default: ${shorten(String(value), 60)})`;
}

/** One line, cut between words. */
export function shorten(text: string, max: number): string {
  // Most spaces are as they should be.
  const line = text.replace(/\s{2,}|[^\S ]/g, ' ').trim();
  if (line.length <= max) return line.toWellFormed();
  return `${line.slice(0, max - 1).replace(/\s\S*$/, '')}…`.toWellFormed();
}

function isPattern(text: string): boolean {
  try {
    return new RegExp(text, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}

function refsIn(value: unknown): string[] {
  const found: string[] = [];
  const walk = (each: unknown): void => {
    if (Array.isArray(each)) each.forEach(walk);
    else if (isObject(each)) {
      if (typeof each['$ref'] === 'string') found.push(each['$ref']);
      else Object.values(each).forEach(walk);
    }
  };
  walk(value);
  return found;
}

function rename(value: unknown, nameOf: (ref: string) => string): unknown {
  if (Array.isArray(value)) return value.map((each) => rename(each, nameOf));
  if (!isObject(value)) return value;
  if (typeof value['$ref'] === 'string') return { $ref: `#/$defs/${nameOf(value['$ref'])}` };
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, rename(each, nameOf)]));
}

function usualName(ref: string): string {
  return (ref.split('/').at(-1) ?? '').replace(/[^A-Za-z0-9_]+/g, '_').slice(0, 60) || 'schema';
}

function uniqueName(usual: string, taken: ReadonlyMap<string, unknown>): string {
  let name = usual;
  for (let count = 2; taken.has(name); count++) name = `${usual}_${count}`;
  return name;
}
