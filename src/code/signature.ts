import { pythonLiteral } from './python-literal.ts';

/** One parameter of a function, read from its JSON Schema. */
export interface Param {
  name: string;
  /** As Python writes it: `str`, `int | None`, `Any`. */
  type: string;
  isRequired: boolean;
  /** Present when the schema gives one, whatever its value. */
  default?: { value: unknown };
  description?: string;
}

/** A function that a program can call. */
export interface FunctionInfo {
  /** As a program writes it: `brave.search`. */
  fullName: string;
  /** In schema order: positional arguments fill them in this order. */
  params: Param[];
  /** True when names that the schema does not know are passed on. */
  isOpen: boolean;
  signature: string;
}

const types: Record<string, string> = {
  string: 'str',
  integer: 'int',
  number: 'float',
  boolean: 'bool',
  array: 'list',
  object: 'dict',
  null: 'None',
};

/** Reads a function from its argument schema. Any schema will do: what cannot be read becomes `Any`. */
export function functionInfo(fullName: string, schema: unknown): FunctionInfo {
  const root = isRecord(schema) ? schema : {};
  const properties = isRecord(root['properties']) ? root['properties'] : {};
  const required = new Set(Array.isArray(root['required']) ? root['required'] : []);
  const params = Object.entries(properties).map(([name, each]): Param => {
    const field = follow(each, root, 0);
    const param: Param = { name, type: typeOf(field, root, 0), isRequired: required.has(name) };
    if (isRecord(field) && Object.hasOwn(field, 'default')) param.default = { value: field['default'] };
    const description = descriptionOf(each) ?? descriptionOf(field);
    if (description !== undefined && description.trim() !== '') param.description = description;
    return param;
  });
  const extra = root['additionalProperties'];
  const isOpen = extra === true || isRecord(extra) || (params.length === 0 && extra !== false);
  return { fullName, params, isOpen, signature: signatureText(fullName, params) };
}

const descriptionOf = (schema: unknown): string | undefined =>
  isRecord(schema) && typeof schema['description'] === 'string' ? schema['description'] : undefined;

/** `brave.search(query: str, count: int = 5)`: required first, then the rest with a default or `'...'`. */
function signatureText(fullName: string, params: readonly Param[]): string {
  const ordered = [...params.filter((param) => param.isRequired), ...params.filter((param) => !param.isRequired)];
  const parts = ordered.map((param) => {
    const head = `${param.name}: ${param.type}`;
    if (param.isRequired) return head;
    return `${head} = ${param.default ? pythonLiteral(param.default.value) : "'...'"}`;
  });
  return `${fullName}(${parts.join(', ')})`;
}

/** The Python type of a schema's values; `Any` when it cannot be told. */
export const pythonType = (schema: unknown): string => typeOf(schema, isRecord(schema) ? schema : {}, 0);

function typeOf(schema: unknown, root: Record<string, unknown>, depth: number): string {
  const field = follow(schema, root, depth);
  if (!isRecord(field) || depth > 8) return 'Any';
  const found = new Set<string>();
  const declared = field['type'];
  const branches = ['anyOf', 'oneOf'].flatMap((key) => (Array.isArray(field[key]) ? (field[key] as unknown[]) : []));
  if (typeof declared === 'string') found.add(typeNamed(declared));
  else if (Array.isArray(declared)) for (const each of declared) found.add(typeNamed(each));
  else if (branches.length > 0)
    for (const each of branches) for (const part of typeOf(each, root, depth + 1).split(' | ')) found.add(part);
  else if (Array.isArray(field['enum'])) for (const each of field['enum']) found.add(typeOfValue(each));
  else if (Object.hasOwn(field, 'const')) found.add(typeOfValue(field['const']));
  if (field['nullable'] === true) found.add('None');
  if (found.size === 0 || found.has('Any')) return 'Any';
  // `None` reads best at the end of a union.
  return [...[...found].filter((each) => each !== 'None'), ...(found.has('None') ? ['None'] : [])].join(' | ');
}

const typeNamed = (name: unknown): string =>
  typeof name === 'string' && Object.hasOwn(types, name) ? types[name]! : 'Any';

function typeOfValue(value: unknown): string {
  if (value === null) return 'None';
  if (Array.isArray(value)) return 'list';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int' : 'float';
  return types[typeof value] ?? 'Any';
}

/** Follows local references, a few steps at most: schemas may point at themselves. */
function follow(schema: unknown, root: Record<string, unknown>, depth: number): unknown {
  let current = schema;
  for (let step = depth; step < 8 && isRecord(current) && typeof current['$ref'] === 'string'; step++) {
    const path = current['$ref'];
    if (!path.startsWith('#/')) return undefined;
    let target: unknown = root;
    for (const key of path.slice(2).split('/')) {
      const name = key.replaceAll('~1', '/').replaceAll('~0', '~');
      target = isRecord(target) && Object.hasOwn(target, name) ? target[name] : undefined;
    }
    current = target;
  }
  return isRecord(current) && typeof current['$ref'] === 'string' ? undefined : current;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
