import { isObject, textOf, type FieldStyle } from '../../../schema/index.ts';
import { isConnectionHeader, isHeaderName } from '../header-names.ts';
import type { ApiDocument, Value } from './document.ts';
import { queryStyle } from './styles.ts';
import { shorten, type SchemaReader } from './schemas.ts';
import { literal } from './security.ts';

/** The arguments of a tool while they are collected, and where each goes in the request. */
export interface Arguments {
  /** Names of secrets: an argument of that name would be sent in their place. */
  secrets: ReadonlySet<string>;
  properties: Record<string, Value>;
  required: string[];
  query: Record<string, string>;
  /** How values of the query that are no plain ones are written. */
  queryStyles: Record<string, FieldStyle>;
  headers: Record<string, string>;
  /** `name=value` each. */
  cookies: string[];
  /** Placeholder for each name in braces of the path. */
  path: Map<string, string>;
  notes: string[];
}

export const noArguments = (): Arguments => ({
  secrets: new Set(),
  properties: {},
  required: [],
  query: {},
  queryStyles: {},
  headers: {},
  cookies: [],
  path: new Map(),
  notes: [],
});

const ignoredHeaders = new Set(['accept', 'content-type', 'authorization']);

/** The parameters of an operation; those of its path come first and are replaced by its own of the same name and place. */
export function parametersOf(document: ApiDocument, pathItem: Value, operation: Value, notes: string[]): Value[] {
  const found = new Map<string, Value>();
  for (const list of [pathItem['parameters'], operation['parameters']])
    if (Array.isArray(list))
      for (const each of list) {
        const parameter = document.resolve(each);
        if (parameter && typeof parameter['name'] === 'string')
          found.set(`${textOf(parameter['in'])} ${parameter['name']}`, parameter);
        else notes.push(`a parameter is left out: ${leadsNowhere(each)}`);
      }
  return [...found.values()];
}

/** Why something that should be described is not. */
export function leadsNowhere(value: unknown): string {
  const ref = isObject(value) ? value['$ref'] : undefined;
  return typeof ref === 'string' ? `${ref.slice(0, 100)} is not in the document` : 'it is not described';
}

/** Makes an argument of a parameter and puts its placeholder where it belongs. */
export function addParameter(args: Arguments, parameter: Value, document: ApiDocument, schemas: SchemaReader): void {
  const place = parameter['in'];
  const name = textOf(parameter['name']);
  const { schema, isJson } = schemaOf(parameter, document, schemas);
  const isRequired = parameter['required'] === true;
  if (place === 'header') {
    if (ignoredHeaders.has(name.toLowerCase())) return;
    if (isConnectionHeader(name) || !isHeaderName(name))
      return void args.notes.push(`the header ${name.slice(0, 40)} cannot be set by a tool`);
    args.headers[name] = placeholder(declare(args, name, schema, isRequired));
  } else if (place === 'cookie')
    args.cookies.push(`${literal(name)}=${placeholder(declare(args, name, schema, isRequired))}`);
  else if (place === 'path') {
    if (!args.path.has(name))
      args.path.set(name, pathPrefix(args, name, parameter) + placeholder(declare(args, name, schema, true)));
  } else if (place === 'query') {
    args.query[name] = placeholder(declare(args, name, schema, isRequired));
    const style = queryStyle(parameter, schema, isJson, document);
    if (style !== undefined) args.queryStyles[name] = style;
  } else args.notes.push(`a parameter in ${textOf(place).slice(0, 20) || 'no place'} is not known`);
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
  // What a parameter says of itself is nearer than what its schema says.
  if (typeof parameter['description'] === 'string') schema['description'] = shorten(parameter['description'], 600);
  const mediaType = isObject(parameter['content']) ? (Object.keys(parameter['content'])[0] ?? '') : '';
  return { schema, isJson: /json/i.test(mediaType) };
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

/** What RFC 6570 puts before a value: `.` or `;name=`. */
function pathPrefix(args: Arguments, name: string, { style, explode }: Value): string {
  if (style !== 'label' && style !== 'matrix') return '';
  if (explode === true) args.notes.push(`the values of ${name.slice(0, 40)} are sent separated by commas`);
  return style === 'label' ? '.' : `;${literal(name)}=`;
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
  for (let count = 2; name in args.properties || args.secrets.has(name); count++) name = `${base}_${count}`;
  args.properties[name] = schema;
  if (isRequired) args.required.push(name);
  return name;
}

export const placeholder = (name: string): string => `\${${name}}`;
