import { findLongInteger, isLongInteger, isObject, textOf } from '../../../schema/index.ts';
import type { ApiDocument, Value } from './document.ts';

const types = new Set(['string', 'number', 'integer', 'boolean', 'array', 'object', 'null']);
const counts = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'];
const numbers = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'];
const maxDescription = 600;
const maxDepth = 24;
const maxBranches = 200;

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

  /** What each argument costs, of those that several operations share. */
  readonly #costs = new WeakMap<Value, number>();

  constructor(document: ApiDocument, maxBytes = 24_000) {
    this.#document = document;
    this.#maxBytes = maxBytes;
  }

  /** A schema whose references are left as they are, ready for `close`. */
  read(schema: unknown): Value {
    return convert(schema, 0);
  }

  /** The schema of these arguments, with the definitions that they refer to. `isCut` says that parts were left open. */
  close(properties: Record<string, Value>, required: string[]): { schema: Value; isCut: boolean } {
    const fitted = this.#fitted(properties);
    const schema: Value = {
      type: 'object',
      properties: fitted.properties,
      ...(required.length > 0 && { required: [...new Set(required)] }),
      additionalProperties: false,
    };
    let { isCut } = fitted;
    const wanted = refsIn(schema);
    if (wanted.length === 0) return { schema, isCut };
    const names = new Map<string, string>();
    const found = new Map<string, Target | undefined>();
    let left = this.#maxBytes;
    let isUsual = true;
    for (let at = 0; at < wanted.length; at++) {
      const ref = wanted[at] as string;
      if (names.has(ref)) continue;
      const target = this.#target(ref);
      const usual = target?.name ?? usualName(ref);
      const name = uniqueName(usual, found);
      isUsual &&= name === usual;
      names.set(ref, name);
      if (!target || target.cost > left || this.#isEndless(ref)) {
        found.set(name, undefined);
        isCut ||= target !== undefined;
        continue;
      }
      left -= target.cost;
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

  /** Documents without references hold everything in place: what is too much is cut where it is deepest. */
  #fitted(properties: Record<string, Value>): { properties: Record<string, Value>; isCut: boolean } {
    let left = 1.5 * this.#maxBytes;
    let isCut = false;
    const fitted = Object.entries(properties).map(([name, given]) => {
      let cost = this.#costs.get(given);
      if (cost === undefined) this.#costs.set(given, (cost = costOf(given)));
      let schema = given;
      for (let depth = 6; cost > left && depth >= 0; depth--) cost = costOf((schema = pruned(given, depth)));
      isCut ||= schema !== given;
      left -= cost;
      return [name, schema] as const;
    });
    return { properties: isCut ? Object.fromEntries(fitted) : properties, isCut };
  }

  /** True when a definition leads back to itself without a step into the value: no value could ever be checked. */
  #isEndless(ref: string): boolean {
    const seen = new Set<string>();
    const next = (each: string): readonly string[] => this.#target(each)?.inPlace ?? [];
    const open = [...next(ref)];
    for (const each of open) {
      if (each === ref) return true;
      if (!seen.has(each)) open.push(...next(each));
      seen.add(each);
    }
    return false;
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
      inPlace: refsInPlace(schema),
      cost: costOf(schema),
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
  /** Those that look at the same value. */
  inPlace: string[];
  cost: number;
  name: string;
  /** The schema as nearly every tool has it: one object for all. */
  named: Value;
}

function convert(schema: unknown, depth: number): Value {
  if (!isObject(schema) || depth > maxDepth) return {};
  if (typeof schema['$ref'] === 'string')
    return schema['$ref'].startsWith('#/') ? orNull({ $ref: schema['$ref'] }, schema) : {};
  const made: Value = {};
  const type = typeOf(schema);
  if (type !== undefined) made['type'] = type;
  const description = describe(schema);
  if (description !== '') made['description'] = description;
  if (Array.isArray(schema['enum'])) readEnum(schema, made);
  if (schema['const'] !== undefined) {
    if (isSendable(schema['const'])) made['const'] = schema['const'];
    else made['not'] = {};
  }
  if (typeof schema['format'] === 'string' && schema['format'].length < 40) made['format'] = schema['format'];
  for (const key of counts) if (Number.isInteger(schema[key]) && (schema[key] as number) >= 0) made[key] = schema[key];
  for (const key of numbers) {
    // A bound that is too long for a number lets the same numbers pass when it is rounded.
    const bound = isLongInteger(schema[key]) ? Number(schema[key].rawJSON) : schema[key];
    if (typeof bound === 'number' && Number.isFinite(bound)) made[key] = bound;
  }
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
  const branches = (key: string): Value[] => {
    const all = Array.isArray(schema[key]) ? schema[key].filter(isObject) : [];
    return all.length > maxBranches ? [] : all.map((each) => convert(each, depth + 1));
  };
  // One of several: which one it is shows in what was left out above, and often in nothing at all.
  const [every, any, one] = [branches('allOf'), branches('anyOf'), branches('oneOf')];
  if (any.length > 0 && one.length > 0) every.push({ anyOf: one });
  if (any.length + one.length > 0) made['anyOf'] = any.length > 0 ? any : one;
  if (every.length > 0) made['allOf'] = every;
  return type === undefined && (made['allOf'] ?? made['anyOf']) ? orNull(made, schema) : made;
}

/** Where a type is said it says that null is taken too; what a reference or a composition says has to be widened. */
function orNull(made: Value, { nullable }: Value): Value {
  if (nullable !== true) return made;
  const { description, ...rest } = made;
  return { ...(description !== undefined && { description }), anyOf: [rest, { type: 'null' }] };
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

/** An integer that is too long for a number is refused as an argument: to offer it rounded would send another one. */
const isSendable = (value: unknown): boolean => findLongInteger(value, '') === undefined;

function readEnum(schema: Value, made: Value): void {
  const given = schema['enum'] as unknown[];
  const sendable = given.filter(isSendable);
  if (sendable.length === 0 && given.length > 0) made['not'] = {};
  const texts = new Map(sendable.map((each) => [JSON.stringify(each), each]));
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
  const value = textOf(schema['default']);
  if (value === '') return text;
  return `${text}${text === '' ? '' : ' '}(default: ${shorten(value, 60)})`;
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

/** Its length, or what its parts weigh where they are many: of both a schema may have so much only. */
function costOf(schema: Value): number {
  const text = JSON.stringify(schema);
  return Math.max(text.length, 30 * (text.split('{').length - 1));
}

/** The same schema, in which everything below this depth is only what its type and its description say. */
function pruned(schema: Value, depth: number): Value {
  const { type, description, properties, items, additionalProperties, allOf, anyOf, ...rest } = schema;
  const said: Value = { ...(type !== undefined && { type }), ...(description !== undefined && { description }) };
  if (depth === 0) return said;
  const each = (part: unknown): unknown => (isObject(part) ? pruned(part, depth - 1) : part);
  const below = { items, additionalProperties };
  for (const [key, part] of Object.entries(below)) if (part !== undefined) said[key] = each(part);
  for (const [key, list] of Object.entries({ allOf, anyOf })) if (Array.isArray(list)) said[key] = list.map(each);
  if (isObject(properties))
    said['properties'] = Object.fromEntries(Object.entries(properties).map(([name, part]) => [name, each(part)]));
  return { ...said, ...rest };
}

/** References that are applied to the value itself, not to a part of it. */
function refsInPlace(schema: Value): string[] {
  if (typeof schema['$ref'] === 'string') return [schema['$ref']];
  return [schema['allOf'], schema['anyOf']].flat().flatMap((each) => (isObject(each) ? refsInPlace(each) : []));
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
