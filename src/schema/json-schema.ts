import { hash } from 'node:crypto';
import { Ajv, type AnySchema, type Options, type ValidateFunction } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { fail, type Detail } from './errors.ts';
import { isObject } from './json.ts';
import { addSteps, fillBudget, spendPattern, spendText } from './json-schema-budget.ts';
import { withoutUnfitDefaults } from './json-schema-defaults.ts';
import { explainErrors, inOneLine } from './json-schema-errors.ts';
import type { Dialect } from './json-schema-dialect.ts';
import { inspectSchema, type Inspected } from './json-schema-guard.ts';
import { isPlainSchema } from './json-schema-plain.ts';
import { isPattern, safePattern } from './safe-pattern.ts';

/** The answer of a check: the value with defaults filled in, or what does not fit. */
export type Checked = { ok: true; value: unknown } | { ok: false; errors: Detail[] };

/** A JSON Schema that was compiled and is kept. */
export interface CompiledSchema {
  /** Checks a value; `root` is where it stands ("/args"). The value itself is never changed. Never throws. */
  check(value: unknown, root?: string): Checked;
  /** Patterns that the safe engine cannot run: values are not checked against them. */
  readonly uncheckedPatterns: readonly string[];
}

export interface CompileOptions {
  /** Fill in defaults (arguments), or leave the value as it is (answers). */
  defaults?: boolean;
  /** Check values against `format`; on by default. */
  formats?: boolean;
  /** Where the schema stands, for the places of errors: "/argSchema". */
  at?: string;
}

const maxKept = 256;
/** Compiled schemas; once there are many, in order of last use. */
const kept = new Map<string, CompiledSchema>();
/** What a schema object is kept under, and with which options: most are asked for in one way only. */
const keys = new WeakMap<object, { key: string; options: string }>();

/**
 * Compiles a schema (draft-07, or what `$schema` says), or answers the one that is kept from before. A schema object
 * must not be changed afterwards. Throws request.invalid for what is no schema, leads outside, or costs too much.
 */
export function compileSchema(schema: unknown, options: CompileOptions = {}): CompiledSchema {
  const key = keyOf(schema, options);
  const known = kept.get(key);
  // While there is room for as many again, the order of use does not matter.
  if (known && kept.size <= maxKept / 2) return known;
  const compiled = known ?? new LazySchema(schema, options);
  kept.delete(key);
  kept.set(key, compiled);
  if (kept.size > maxKept) kept.delete(kept.keys().next().value!);
  return compiled;
}

/** Throws as compileSchema does, and keeps nothing: for schemas that are stored and perhaps never asked for. */
export function checkSchema(schema: unknown, at: string): void {
  if (!isPlainSchema(schema)) new LazySchema(schema, { at });
}

function keyOf(schema: unknown, { defaults = false, formats = true, at = '' }: CompileOptions): string {
  const options = `${defaults ? 'd' : ''}${formats ? '' : 'n'}:`;
  const known = isObject(schema) ? keys.get(schema) : undefined;
  if (known?.options === options) return known.key;
  const key = options + (known?.key.slice(known.options.length) ?? hash('sha256', textOf(schema, at)));
  if (isObject(schema)) keys.set(schema, { key, options });
  return key;
}

function textOf(schema: unknown, at: string): string {
  try {
    const text = JSON.stringify(schema);
    if (text !== undefined) return text;
  } catch {
    // Reported below, like a missing one.
  }
  throw refusal(at, [{ path: at || '/', message: 'must be a JSON Schema: an object, true or false' }]);
}

/** Checks with the validator that stops at the first finding; asks the thorough one only for small values that failed. */
class LazySchema implements CompiledSchema {
  readonly #schema: unknown;
  readonly #options: CompileOptions;
  #known: Inspected | undefined;
  #first: ValidateFunction | undefined;
  #unchecked: readonly string[] = [];
  #thorough: ValidateFunction | undefined;
  /** Whether defaults that do not fit were looked for; that happens only once a value is refused. */
  #isMended = false;

  constructor(schema: unknown, options: CompileOptions) {
    this.#schema = schema;
    this.#options = options;
    // Compiling costs milliseconds: where nothing can go wrong it waits until a value is checked.
    if (isPlainSchema(schema)) return;
    const at = options.at ?? '';
    const { dialect, counted } = this.#inspected;
    const meta = metaValidator(dialect);
    fillBudget();
    if (meta.validateSchema(counted as AnySchema) !== true) throw refusal(at, explainErrors(meta.errors ?? [], at));
    this.#validator();
  }

  get #inspected(): Inspected {
    const at = this.#options.at ?? '';
    return (this.#known ??= inspectSchema(this.#schema, textOf(this.#schema, at), at));
  }

  get uncheckedPatterns(): readonly string[] {
    this.#validator();
    return this.#unchecked;
  }

  #validator(): ValidateFunction {
    if (this.#first) return this.#first;
    unchecked.clear();
    this.#first = this.#compile(false);
    this.#unchecked = [...unchecked];
    return this.#first;
  }

  check(value: unknown, root = ''): Checked {
    const fillsIn = this.#options.defaults && this.#inspected.hasDefaults;
    const given = fillsIn ? structuredClone(value) : value;
    const failed = run(this.#validator(), given);
    if (failed === 'fits') return { ok: true, value: given };
    if (fillsIn && this.#mends()) return this.check(value, root);
    if (failed !== 'findings' && failed.stopped === tooDeep) {
      // Not only deep values need much room: the code of a very wide schema does, too, unless it is the thorough one.
      const again = fillsIn ? structuredClone(value) : value;
      const thorough = run((this.#thorough ??= this.#compile(true)), again);
      if (thorough === 'fits') return { ok: true, value: again };
      if (thorough === 'findings') return { ok: false, errors: explainErrors(this.#thorough.errors ?? [], root) };
    }
    const errors = failed === 'findings' ? this.#all(value, root) : [{ path: root || '/', message: failed.stopped }];
    return { ok: false, errors };
  }

  /** Takes out the defaults that do not fit their own schema, once; true when there were any. */
  #mends(): boolean {
    if (this.#isMended) return false;
    this.#isMended = true;
    const { counted, dialect } = this.#inspected;
    const validator = makeValidator(dialect, { ...this.#options, defaults: false }, true);
    const mended = withoutUnfitDefaults(counted, validator, (validate, each) => run(validate, each) === 'fits');
    if (mended === undefined) return false;
    this.#known = { counted: mended, dialect, hasDefaults: true };
    this.#first = undefined;
    return true;
  }

  #all(value: unknown, root: string): Detail[] {
    const first = explainErrors(this.#validator().errors ?? [], root);
    if (sizeOf(value, 2000) >= 2000) return first;
    this.#thorough ??= this.#compile(true);
    const failed = run(this.#thorough, this.#options.defaults ? structuredClone(value) : value);
    return failed === 'findings' ? explainErrors(this.#thorough.errors ?? [], root) : first;
  }

  #compile(allErrors: boolean): ValidateFunction {
    const { counted, dialect } = this.#inspected;
    const at = this.#options.at ?? '';
    try {
      // A validator retains everything it ever compiled, and its schemas see each other by $id, so each schema gets its own.
      return makeValidator(dialect, this.#options, allErrors).compile(counted as AnySchema);
    } catch (error) {
      if (error instanceof RangeError && !allErrors) return this.#compile(true);
      throw refusal(at, [{ path: at || '/', message: `cannot be compiled: ${reasonOf(error)}` }], error);
    }
  }
}

const refusal = (at: string, details: Detail[], cause?: unknown): Error =>
  fail(
    'request.invalid',
    { reason: `${at.slice(1) || 'the schema'} is no usable JSON Schema: ${inOneLine(details)}` },
    { details, cause },
  );

function reasonOf(error: unknown): string {
  const missing = (error as { missingRef?: string }).missingRef;
  return missing === undefined
    ? (error as Error).message
    : `$ref ${missing} leads to nothing in this schema. Other documents are never loaded; copy it into $defs.`;
}

const unchecked = new Set<string>();

const tooDeep = 'is nested too deep for this schema';

/** `findings`: the validator has errors to tell. */
function run(validate: ValidateFunction, value: unknown): 'fits' | 'findings' | { stopped: string } {
  fillBudget();
  try {
    return validate(value) ? 'fits' : 'findings';
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { stopped: error.message.includes('stack') ? tooDeep : error.message };
  }
}

const validators = { '07': Ajv, 2019: Ajv2019, 2020: Ajv2020 };
const metaValidators = new Map<Dialect, Ajv>();

/** Checks a schema against the meta-schema; compiling that one is expensive, so it is done once. */
function metaValidator(dialect: Dialect): Ajv {
  let found = metaValidators.get(dialect);
  if (!found) metaValidators.set(dialect, (found = makeValidator(dialect, {}, false)));
  return found;
}

function makeValidator(
  dialect: Dialect,
  { defaults, formats: checkFormats = true }: CompileOptions,
  allErrors: boolean,
): Ajv {
  const settings: Options = {
    strict: false,
    // JSON has no Infinity: what is read from 1e400 would be passed on as null.
    strictNumbers: true,
    allErrors,
    verbose: true,
    logger: false,
    ownProperties: true,
    // Copying what a $ref names into every place would let a small schema become megabytes of code.
    inlineRefs: false,
    useDefaults: defaults ?? false,
    validateSchema: false,
    validateFormats: checkFormats,
    code: { regExp: patternEngine, optimize: false },
  };
  const ajv = new validators[dialect](settings);
  formats.default(ajv);
  ajv.addFormat('regex', isPattern);
  addSteps(ajv);
  // The library compares every item with every other one.
  ajv.removeKeyword('uniqueItems');
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    error: { message: 'must not hold the same item twice' },
    validate: (wanted: boolean, items: unknown[]) => !wanted || areUnique(items),
  });
  return ajv;
}

const patternEngine = Object.assign(
  (pattern: string) => {
    const safe = safePattern(pattern);
    if (!safe) unchecked.add(pattern);
    // The validator tells patterns apart by this text; without it they would all be one.
    const test = (text: string): boolean => {
      if (!safe) return true;
      spendPattern(safe.size, text);
      return safe.test(text);
    };
    return { test, toString: () => `/${pattern}/` };
  },
  { code: 'new RegExp' },
);

function areUnique(items: readonly unknown[]): boolean {
  const texts = new Set<string>();
  for (const item of items) {
    const text = sortedText(item);
    spendText(text.length);
    texts.add(text);
  }
  return texts.size === items.length;
}

function sortedText(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) =>
    isObject(each) ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1))) : each,
  );
}

/** How many values there are, counted no further than `limit`. */
function sizeOf(value: unknown, limit: number): number {
  let count = 0;
  const open: unknown[] = [value];
  while (open.length > 0 && count < limit) {
    const next = open.pop();
    count++;
    if (typeof next === 'object' && next !== null) open.push(...Object.values(next).slice(0, limit));
  }
  return count;
}
