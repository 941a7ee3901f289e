import { isObject } from './json.ts';

export type Dialect = '07' | '2019' | '2020';

/** The dialect that `$schema` names: draft-07 when it names none, undefined when it is not supported. */
export function dialectOf(schema: unknown): Dialect | undefined {
  const named = isObject(schema) ? schema['$schema'] : undefined;
  if (named === undefined) return '07';
  if (typeof named !== 'string') return undefined;
  const known = /^https?:\/\/json-schema\.org\/(draft-0[467]|draft\/(20\d\d)-\d\d)\/schema#?$/.exec(named);
  if (!known) return undefined;
  if (known[2] === undefined) return '07';
  return known[2] === '2019' || known[2] === '2020' ? known[2] : undefined;
}

const besideRef = new Set([
  '$ref',
  'definitions',
  '$defs',
  'default',
  'title',
  'description',
  '$comment',
  'examples',
  '$schema',
]);
const plainContainers = new Set([
  'enum',
  'const',
  'default',
  'examples',
  'required',
  'type',
  'dependentRequired',
  '$vocabulary',
]);

/**
 * The keywords of one subschema as the validator has to see them, where the dialect means something else than the
 * library does. `isOneResource`: nothing inside names itself by `$id`. `isSchemaKeyword`: keywords whose value holds schemas.
 */
export function keywordsOf(
  schema: Record<string, unknown>,
  dialect: Dialect,
  isOneResource: boolean,
  isSchemaKeyword: (key: string) => boolean,
): [string, unknown][] {
  // In draft-07 a reference stands for itself alone.
  const isLoneRef = dialect === '07' && typeof schema['$ref'] === 'string';
  const isStatic =
    dialect === '2020' && isOneResource && !Object.hasOwn(schema, '$ref') && !Object.hasOwn(schema, '$anchor');
  return Object.entries(schema)
    .filter(([key, value]) => (!isLoneRef || besideRef.has(key)) && !isLibraryWord(key, value, schema))
    .map(([key, value]): [string, unknown] => {
      // Within one resource there is only one place that a dynamic reference can mean.
      if (isStatic && key === '$dynamicRef') return ['$ref', value];
      if (isStatic && key === '$dynamicAnchor') return ['$anchor', value];
      const isForeign =
        typeof value === 'object' && value !== null && !isSchemaKeyword(key) && !plainContainers.has(key);
      return [key, isForeign ? withoutNames(value, 0) : value];
    });
}

/** Words of no dialect that the library has a meaning of its own for, or refuses. */
function isLibraryWord(key: string, value: unknown, schema: Record<string, unknown>): boolean {
  // It would make the validator answer a promise, which looks as if every value fitted.
  if (key === '$async' || key === 'id') return true;
  // Many write it as OpenAPI means it; where OpenAPI gives it no meaning, neither do we.
  return key === 'nullable' && !(typeof value === 'boolean' && Object.hasOwn(schema, 'type'));
}

const names = new Set(['$id', '$anchor', '$dynamicAnchor', '$async']);

/** What lies in a keyword that nobody knows is no schema, whatever it looks like: it cannot name itself. */
function withoutNames(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null || depth > 200) return value;
  if (Array.isArray(value)) return value.map((each) => withoutNames(each, depth + 1));
  const copy: Record<string, unknown> = {};
  for (const [key, each] of Object.entries(value))
    // A property may be called id; then it holds a schema.
    if (!names.has(key) && !(key === 'id' && typeof each === 'string'))
      Object.defineProperty(copy, key, {
        value: withoutNames(each, depth + 1),
        enumerable: true,
        writable: true,
        configurable: true,
      });
  return copy;
}
