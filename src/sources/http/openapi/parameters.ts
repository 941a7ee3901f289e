import { isObject, textOf } from '../../../schema/index.ts';
import { isConnectionHeader, isHeaderName } from '../header-names.ts';
import type { ApiDocument, Value } from './document.ts';
import { shorten, type SchemaReader } from './schemas.ts';
import { literal } from './security.ts';

/** The arguments of a tool while they are collected, and where each goes in the request. */
export interface Arguments {
  properties: Record<string, Value>;
  required: string[];
  query: Record<string, string>;
  headers: Record<string, string>;
  cookies: { pair: string; isRequired: boolean }[];
  /** Placeholder for each name in braces of the path. */
  path: Map<string, string>;
  notes: string[];
}

export const noArguments = (): Arguments => ({
  properties: {},
  required: [],
  query: {},
  headers: {},
  cookies: [],
  path: new Map(),
  notes: [],
});

const maxProperties = 60;
const ignoredHeaders = new Set(['accept', 'content-type', 'authorization']);

/** The parameters of an operation; those of its path come first and are replaced by its own of the same name and place. */
export function parametersOf(document: ApiDocument, pathItem: Value, operation: Value): Value[] {
  const found = new Map<string, Value>();
  for (const list of [pathItem['parameters'], operation['parameters']])
    if (Array.isArray(list))
      for (const each of list) {
        const parameter = document.resolve(each);
        if (parameter && typeof parameter['name'] === 'string')
          found.set(`${textOf(parameter['in'])} ${parameter['name']}`, parameter);
      }
  return [...found.values()];
}

/** Makes an argument of a parameter and puts its placeholder where it belongs. */
export function addParameter(args: Arguments, parameter: Value, document: ApiDocument, schemas: SchemaReader): void {
  const place = parameter['in'];
  const name = textOf(parameter['name']);
  const { schema, isJson } = schemaOf(parameter, document, schemas);
  const isRequired = parameter['required'] === true || place === 'path';
  if (place === 'header') {
    if (ignoredHeaders.has(name.toLowerCase())) return;
    if (isConnectionHeader(name) || !isHeaderName(name))
      return void args.notes.push(`the header ${name.slice(0, 40)} cannot be set by a tool`);
    args.headers[name] = placeholder(declare(args, name, schema, isRequired));
  } else if (place === 'cookie')
    args.cookies.push({ pair: `${literal(name)}=${placeholder(declare(args, name, schema, isRequired))}`, isRequired });
  else if (place === 'path') {
    if (!args.path.has(name)) args.path.set(name, placeholder(declare(args, name, schema, true)));
  } else if (place === 'query') addQuery(args, name, parameter, schema, isJson, isRequired);
  else args.notes.push(`a parameter in ${textOf(place).slice(0, 20) || 'no place'} is not known`);
}

interface ReadParameter {
  schema: Value;
  isJson: boolean;
}

/** Most operations of a document share some of their parameters. */
const known = new WeakMap<Value, ReadParameter>();

function schemaOf(parameter: Value, document: ApiDocument, schemas: SchemaReader): ReadParameter {
  let read = known.get(parameter);
  if (!read) known.set(parameter, (read = readParameter(parameter, document, schemas)));
  return read;
}

function readParameter(parameter: Value, document: ApiDocument, schemas: SchemaReader): ReadParameter {
  const content = isObject(parameter['content']) ? Object.values(parameter['content'])[0] : undefined;
  const holder = isObject(content) ? content : parameter;
  const given = document.isSwagger2 ? parameter : holder['schema'];
  const resolved = isSmallRef(given, document) ? document.resolve(given) : given;
  const schema = schemas.read(resolved);
  // Description and required belong to the parameter, not to its schema.
  delete schema['required'];
  if (typeof parameter['description'] === 'string') schema['description'] = shorten(parameter['description'], 600);
  return { schema, isJson: content !== undefined };
}

/** A reference to a plain value is easier to read in its place. */
function isSmallRef(schema: unknown, document: ApiDocument): boolean {
  if (!isObject(schema) || typeof schema['$ref'] !== 'string') return false;
  const target = document.resolve(schema);
  return (
    target !== undefined &&
    target['properties'] === undefined &&
    target['allOf'] === undefined &&
    target['oneOf'] === undefined &&
    target['anyOf'] === undefined &&
    target['items'] === undefined
  );
}

function addQuery(
  args: Arguments,
  name: string,
  parameter: Value,
  schema: Value,
  isJson: boolean,
  isRequired: boolean,
): void {
  const isList = [schema['type']].flat().includes('array');
  const properties = isObject(schema['properties']) ? Object.keys(schema['properties']) : [];
  if (!isJson && properties.length > 0 && properties.length <= maxProperties) {
    const argument = declare(args, name, schema, isRequired);
    const isDeep = parameter['style'] === 'deepObject';
    for (const each of properties.filter((key) => /^[\p{L}_][\p{L}\p{Nd}_-]*$/u.test(key)))
      args.query[isDeep ? `${name}[${each}]` : each] = `\${${argument}.${each}}`;
    return;
  }
  const separator = isList && !isJson ? separatorOf(parameter) : undefined;
  if (separator === undefined) {
    args.query[name] = placeholder(declare(args, name, schema, isRequired));
    return;
  }
  const text = typeof schema['description'] === 'string' ? `${schema['description']} ` : '';
  args.query[name] = placeholder(
    declare(
      args,
      name,
      { type: 'string', description: `${text}(several values separated by ${separator})` },
      isRequired,
    ),
  );
}

/** What stands between the values of a list that is one text; undefined when the name is repeated. */
function separatorOf({ style, explode, collectionFormat, in: place, type }: Value): string | undefined {
  if (type === 'array') {
    // Swagger 2 joins with commas unless told otherwise.
    const format = textOf(collectionFormat ?? 'csv');
    return format === 'multi' ? undefined : ({ ssv: 'spaces', tsv: 'tabs', pipes: '|' }[format] ?? 'commas');
  }
  if (style === 'spaceDelimited') return 'spaces';
  if (style === 'pipeDelimited') return '|';
  return explode === false && place === 'query' ? 'commas' : undefined;
}

/** Adds an argument under a name that templates and programs can say; answers that name. */
export function declare(args: Arguments, wish: string, schema: Value, isRequired: boolean): string {
  const base =
    wish
      .replace(/[^A-Za-z0-9_]+/g, '_')
      .replace(/^_+(?=[A-Za-z])|_+$/g, '')
      .replace(/^(?=\d)/, '_')
      .slice(0, 60) || 'value';
  let name = base;
  // Also no name that every object has already.
  for (let count = 2; name in args.properties; count++) name = `${base}_${count}`;
  args.properties[name] = schema;
  if (isRequired) args.required.push(name);
  return name;
}

export const placeholder = (name: string): string => `\${${name}}`;
