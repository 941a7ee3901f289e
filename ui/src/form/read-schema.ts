import type { JsonSchema } from '../api/shapes.ts';

export type Kind =
  'choice' | 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object' | 'null' | 'union' | 'any';
export type SchemaObject = Record<string, unknown>;

const longestChain = 20;
const deepestStart = 4;

/** A schema with its local `$ref`s followed and its `allOf` folded in. A broken or endless chain reads as "anything". */
export function resolve(schema: unknown, root: JsonSchema): SchemaObject {
  let current: unknown = schema;
  for (let hops = 0; hops < longestChain; hops++) {
    if (!isObject(current)) return {};
    const ref = current['$ref'] ?? current['$dynamicRef'];
    if (typeof ref !== 'string') return foldAllOf(current, root);
    const { $ref: _ref, $dynamicRef: _dynamic, ...beside } = current;
    const target = pointed(root, ref);
    if (target === undefined) return beside;
    current = isObject(target) ? { ...target, ...beside } : target;
  }
  return {};
}

/** How a value of this schema is best typed in. */
export function kindOf(schema: SchemaObject): Kind {
  if (choicesOf(schema).length > 0) return 'choice';
  if (variantsOf(schema).length > 1) return 'union';
  const type = Array.isArray(schema['type']) ? schema['type'][0] : schema['type'];
  if (typeof type === 'string' && kinds.has(type)) return type as Kind;
  if (['properties', 'additionalProperties', 'patternProperties'].some((key) => isObject(schema[key]))) return 'object';
  if ('items' in schema || 'prefixItems' in schema) return 'array';
  return 'any';
}

/** Fixed values to choose from: `enum`, `const`, or a union of nothing but constants. */
export function choicesOf(schema: SchemaObject): unknown[] {
  if (Array.isArray(schema['enum'])) return schema['enum'];
  if ('const' in schema) return [schema['const']];
  const variants = Array.isArray(schema['type']) ? [] : variantsOf(schema);
  return variants.every((each) => isObject(each) && 'const' in each)
    ? variants.map((each) => (each as SchemaObject)['const'])
    : [];
}

/** The branches of a union: `oneOf`, `anyOf`, or several types. */
export function variantsOf(schema: SchemaObject): unknown[] {
  const branches = schema['oneOf'] ?? schema['anyOf'];
  if (Array.isArray(branches)) {
    const { oneOf: _one, anyOf: _any, ...rest } = schema;
    return branches.map((branch) =>
      isObject(branch) && Object.keys(rest).length > 0 ? { ...rest, ...branch } : branch,
    );
  }
  if (Array.isArray(schema['type'])) return schema['type'].map((type: unknown) => ({ ...schema, type }));
  return [];
}

/** A short name for a branch, so that people can choose it. */
export function nameOf(schema: SchemaObject, position: number): string {
  if (typeof schema['title'] === 'string') return schema['title'];
  if ('const' in schema) return JSON.stringify(schema['const']);
  const marker = Object.values(isObject(schema['properties']) ? schema['properties'] : {}).find(
    (each) => isObject(each) && 'const' in each,
  );
  if (isObject(marker)) return String(marker['const']);
  const kind = kindOf(schema);
  return kind === 'any' || kind === 'choice' ? `#${position + 1}` : kind;
}

/** True when a value could be meant for this branch of a union; fields with a fixed value tell objects apart. */
export function fits(value: unknown, schema: SchemaObject): boolean {
  const kind = kindOf(schema);
  if (kind === 'choice') return choicesOf(schema).some((each) => JSON.stringify(each) === JSON.stringify(value));
  if (kind !== 'object' || !isObject(value)) return fitsKind(value, kind);
  return Object.entries(isObject(schema['properties']) ? schema['properties'] : {}).every(
    ([name, each]) =>
      !isObject(each) || !('const' in each) || !Object.hasOwn(value, name) || each['const'] === value[name],
  );
}

function fitsKind(value: unknown, kind: Kind): boolean {
  switch (kind) {
    case 'string':
      return typeof value === 'string';
    case 'number':
      return typeof value === 'number';
    case 'integer':
      return Number.isInteger(value);
    case 'boolean':
      return typeof value === 'boolean';
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    case 'null':
      return value === null;
    default:
      return value !== undefined;
  }
}

/** A value to begin with: what the schema leaves no choice about, defaults where it has them, nothing where it has not. */
export function startOf(schema: JsonSchema, root: JsonSchema = schema, depth = 0): unknown {
  const read = resolve(schema, root);
  if ('default' in read) return read['default'];
  if ('const' in read) return read['const'];
  switch (kindOf(read)) {
    case 'object':
      return Object.fromEntries(
        Object.entries(isObject(read['properties']) ? read['properties'] : {})
          .map(([name, each]) => {
            const field = resolve(each, root);
            const isRequired = Array.isArray(read['required']) && read['required'].includes(name);
            const isForced = 'default' in field || (isRequired && ('const' in field || isNesting(field, root)));
            return [name, isForced && depth < deepestStart ? startOf(field, root, depth + 1) : undefined] as const;
          })
          .filter(([, value]) => value !== undefined),
      );
    case 'union': {
      const [first] = variantsOf(read);
      return isNesting(read, root) ? startOf(resolve(first, root), root, depth) : undefined;
    }
    case 'array':
      return [];
    case 'boolean':
      return false;
    case 'null':
      return null;
    case 'string':
      return '';
    default:
      return undefined;
  }
}

/** True where only an object is shown at first, so that what it must hold can be there from the beginning. */
function isNesting(read: SchemaObject, root: JsonSchema): boolean {
  const kind = kindOf(read);
  return kind === 'object' || (kind === 'union' && kindOf(resolve(variantsOf(read)[0], root)) === 'object');
}

export const isObject = (value: unknown): value is SchemaObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A field of a value; one that has the name of what every object inherits, such as `constructor`, is not there by itself. */
export const ownValue = (object: SchemaObject, name: string): unknown =>
  Object.hasOwn(object, name) ? object[name] : undefined;

const kinds = new Set(['string', 'number', 'integer', 'boolean', 'array', 'object', 'null']);

function foldAllOf(schema: SchemaObject, root: JsonSchema): SchemaObject {
  const parts = schema['allOf'];
  if (!Array.isArray(parts)) return schema;
  const { allOf: _parts, ...rest } = schema;
  return parts.slice(0, longestChain).reduce<SchemaObject>((whole, part) => {
    const read = isObject(part) && '$ref' in part ? resolve(part, root) : isObject(part) ? part : {};
    return {
      ...whole,
      ...read,
      properties: { ...(whole['properties'] as object | undefined), ...(read['properties'] as object | undefined) },
      required: [
        ...((whole['required'] as string[] | undefined) ?? []),
        ...((read['required'] as string[] | undefined) ?? []),
      ],
    };
  }, rest);
}

export function pointed(root: unknown, ref: string): unknown {
  if (ref === '#') return root;
  if (!ref.startsWith('#/')) return undefined;
  return ref
    .slice(2)
    .split('/')
    .map((part) => decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((at, key) => (isObject(at) || Array.isArray(at) ? (at as SchemaObject)[key] : undefined), root);
}
