import { isObject, pointerKey } from './json.ts';
import { dialectOf } from './json-schema-dialect.ts';
import { schemaLimits } from './json-schema-guard.ts';
import { isPattern, maxPatternsSize, patternSize } from './safe-pattern.ts';

/**
 * True when there is no doubt about a schema: it costs little, fits the schema of schemas of every dialect, compiles, and
 * checking it ends. Such a schema is made of well-known keywords alone, each with a value that it wants, and every `$ref`
 * leads to a schema inside it. False says nothing: the schema must be inspected and compiled.
 */
export function isPlainSchema(schema: unknown): boolean {
  const look = new Look();
  return look.isSchema(schema, 0) && look.isShort(schema) && look.ends(schema);
}

/** Whether a keyword's value is as it should be; `owner` is the schema that holds the keyword. */
type Fits = (value: unknown, look: Look, depth: number, owner: object) => boolean;

const isText: Fits = (value, look) => typeof value === 'string' && look.counts(value);
const isFlag: Fits = (value) => typeof value === 'boolean';
const isNumber: Fits = (value) => Number.isFinite(value);
const isCount: Fits = (value) => Number.isInteger(value) && (value as number) >= 0;
const isValue: Fits = (value, look, depth) => look.isJson(value, depth);
const isList: Fits = (value, look, depth) => Array.isArray(value) && look.isJson(value, depth);
const isSchema: Fits = (value, look, depth) => look.isSchema(value, depth + 1);

const isTextSet: Fits = (value, look) => {
  if (!Array.isArray(value)) return false;
  for (const each of value) if (typeof each !== 'string' || !look.counts(each)) return false;
  return value.length < 2 || new Set(value).size === value.length;
};

/** For objects and lists, checking that no two are alike would take long. */
const isChoice: Fits = (value, look, depth) => {
  if (!Array.isArray(value) || value.length === 0) return false;
  for (const each of value) if ((typeof each === 'object' && each !== null) || !look.isJson(each, depth)) return false;
  return new Set(value).size === value.length;
};

const types = new Set<unknown>(['string', 'number', 'integer', 'boolean', 'array', 'object', 'null']);
const isType: Fits = (value, look, depth, owner) =>
  types.has(value) ||
  (isTextSet(value, look, depth, owner) && (value as []).length > 0 && types.isSupersetOf(new Set(value as [])));

/** Property names that the validator mistakes for something else: a prototype, the name of a schema. */
const treacherous = new Set(['__proto__', '$id']);
const isSchemaMap: Fits = (value, look, depth) => {
  if (!isPlainObject(value)) return false;
  for (const name of Object.keys(value))
    if (treacherous.has(name) || !look.counts(name) || !look.isSchema(value[name], depth + 1)) return false;
  return true;
};

/** A schema that is applied to the same value as its owner. */
const isInPlace: Fits = (value, look, depth, owner) => look.isSchema(value, depth + 1) && look.leads(owner, value);

const isInPlaceList: Fits = (value, look, depth, owner) => {
  if (!Array.isArray(value) || value.length === 0 || value.length > schemaLimits.branches) return false;
  for (const each of value) if (!isInPlace(each, look, depth, owner)) return false;
  return true;
};

const besideAnything: [string, Fits][] = [
  ['title', isText],
  ['description', isText],
  ['$comment', isText],
  ['default', isValue],
  ['examples', isList],
  ['$defs', isSchemaMap],
  ['definitions', isSchemaMap],
];
/** In draft-07 a reference stands for itself alone: anything more beside it would mean something else in each dialect. */
const withRef = new Map<string, Fits>([
  ...besideAnything,
  ['$ref', (value, look, _, owner) => look.refers(owner, value)],
]);
const withoutRef = new Map<string, Fits>([
  ...besideAnything,
  ['readOnly', isFlag],
  ['writeOnly', isFlag],
  ['deprecated', isFlag],
  ['type', isType],
  ['enum', isChoice],
  ['const', isValue],
  ['format', isText],
  [
    'pattern',
    (value, look) => typeof value === 'string' && look.counts(value) && look.hasRoomFor(value) && isPattern(value),
  ],
  ['properties', isSchemaMap],
  ['required', isTextSet],
  ['additionalProperties', isSchema],
  ['items', isSchema],
  ['allOf', isInPlaceList],
  ['anyOf', isInPlaceList],
  ['oneOf', isInPlaceList],
  ['not', isInPlace],
  ['minimum', isNumber],
  ['maximum', isNumber],
  ['exclusiveMinimum', isNumber],
  ['exclusiveMaximum', isNumber],
  ['multipleOf', (value) => Number.isFinite(value) && (value as number) > 0],
  ['minLength', isCount],
  ['maxLength', isCount],
  ['minItems', isCount],
  ['maxItems', isCount],
  ['uniqueItems', isFlag],
  ['minProperties', isCount],
  ['maxProperties', isCount],
]);

/** What a character of a text, the rest of a text and any other value can take in JSON. */
const width = { character: 6, text: 4, other: 32 };
const simpleRef = /^#(?:\/[\w$.~-]+)*$/;

/** One look through one schema. */
class Look {
  /** Characters that the JSON text has at most. */
  #characters = 0;
  #schemas = 0;
  #patternSize = 0;
  readonly #seen = new Set<unknown>();
  /** From a schema to those that are applied to the same value; a text is a `$ref` to one. */
  readonly #edges = new Map<unknown, unknown[]>();
  #hasRefs = false;

  isSchema(schema: unknown, depth: number): boolean {
    if (typeof schema === 'boolean') return true;
    if (!isPlainObject(schema) || depth > schemaLimits.depth || ++this.#schemas > schemaLimits.subschemas) return false;
    this.#seen.add(schema);
    const known = Object.hasOwn(schema, '$ref') ? withRef : withoutRef;
    for (const key of Object.keys(schema)) {
      const fits = known.get(key);
      const isFit = fits
        ? fits(schema[key], this, depth, schema)
        : key === '$schema' && depth === 0 && dialectOf(schema) !== undefined;
      if (!isFit) return false;
      this.#characters += key.length + width.other;
    }
    return true;
  }

  /** True for what JSON gives back as it was. */
  isJson(value: unknown, depth: number): boolean {
    if (typeof value === 'string') return this.counts(value);
    this.#characters += width.other;
    if (typeof value !== 'object' || value === null)
      return value === null || typeof value === 'boolean' || Number.isFinite(value);
    if (depth > schemaLimits.depth) return false;
    if (Array.isArray(value)) {
      for (const each of value) if (!this.isJson(each, depth + 1)) return false;
      return true;
    }
    if (!isPlainObject(value)) return false;
    for (const key of Object.keys(value)) if (!this.counts(key) || !this.isJson(value[key], depth + 1)) return false;
    return true;
  }

  counts(text: string): true {
    this.#characters += text.length * width.character + width.text;
    return true;
  }

  hasRoomFor(pattern: string): boolean {
    return (this.#patternSize += patternSize(pattern)) <= maxPatternsSize;
  }

  leads(from: object, to: unknown): true {
    const known = this.#edges.get(from);
    if (known) known.push(to);
    else this.#edges.set(from, [to]);
    return true;
  }

  refers(from: object, ref: unknown): boolean {
    if (typeof ref !== 'string' || !simpleRef.test(ref)) return false;
    this.#hasRefs = true;
    return this.counts(ref) && this.leads(from, ref);
  }

  isShort(schema: unknown): boolean {
    return this.#characters <= schemaLimits.characters || JSON.stringify(schema).length <= schemaLimits.characters;
  }

  /** False when a `$ref` leads to no schema, or a schema back to itself without stepping into the value. */
  ends(root: unknown): boolean {
    if (!this.#hasRefs) return true;
    const done = new Set<unknown>();
    const open = new Set<unknown>();
    const visit = (from: unknown): boolean => {
      if (done.has(from)) return true;
      if (open.has(from)) return false;
      open.add(from);
      for (const next of this.#edges.get(from) ?? []) {
        const to = typeof next === 'string' ? target(root, next) : next;
        if (typeof to !== 'boolean' && !this.#seen.has(to)) return false;
        if (!visit(to)) return false;
      }
      open.delete(from);
      done.add(from);
      return true;
    };
    return this.#edges.keys().every(visit);
  }
}

/** What a `$ref` into the same schema leads to; undefined where there is no object. */
function target(root: unknown, ref: string): object | undefined {
  let found: unknown = root;
  for (const step of ref.split('/').slice(1)) {
    const key = pointerKey(step);
    if (!isObject(found) || !Object.hasOwn(found, key)) return undefined;
    found = found[key];
  }
  return isObject(found) ? found : undefined;
}

/** Not one that says itself how it becomes JSON. */
function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
