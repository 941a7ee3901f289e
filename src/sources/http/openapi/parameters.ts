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
    args.cookies.push({ pair: `${literal(name)}=${placeholder(declare(args, name, schema, isRequired))}`, isRequired });
  else if (place === 'path') {
    if (!args.path.has(name))
      args.path.set(name, pathPrefix(args, name, parameter) + placeholder(declare(args, name, schema, true)));
  } else if (place === 'query') addQuery(args, name, parameter, schema, isJson, isRequired, document);
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
  // What a parameter says of itself is nearer than what its schema says.
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

/** What RFC 6570 puts before a value: `.` or `;name=`. */
function pathPrefix(args: Arguments, name: string, { style, explode }: Value): string {
  if (style !== 'label' && style !== 'matrix') return '';
  if (explode === true) args.notes.push(`the values of ${name.slice(0, 40)} are sent separated by commas`);
  return style === 'label' ? '.' : `;${literal(name)}=`;
}

function addQuery(
  args: Arguments,
  name: string,
  parameter: Value,
  given: Value,
  isJson: boolean,
  isRequired: boolean,
  document: ApiDocument,
): void {
  const isDeep = parameter['style'] === 'deepObject';
  const schema = isDeep ? onlyObjects(given, document) : given;
  const shape = isJson ? noShape : shapeOf(schema, document);
  const separator = isDeep ? undefined : separatorOf(parameter, shape);
  if (separator !== undefined) {
    const text = typeof schema['description'] === 'string' ? `${schema['description']} ` : '';
    const description = `${text}(several values separated by ${separator})`;
    args.query[name] = placeholder(declare(args, name, { type: 'string', description }, isRequired));
    return;
  }
  const argument = declare(args, name, schema, isRequired);
  if (shape.properties.size === 0 || shape.properties.size > maxProperties) {
    // Lists have no place in this style; those who use it all the same mean this.
    const isDeepList = isDeep && shape.isList && !name.endsWith('[]');
    args.query[isDeepList ? `${name}[]` : name] = placeholder(argument);
    return;
  }
  for (const each of shape.properties)
    if (/^[\p{L}_][\p{L}\p{Nd}_-]*$/u.test(each))
      args.query[isDeep ? `${name}[${each}]` : each] = `\${${argument}.${each}}`;
    else args.notes.push(`${each.slice(0, 40)} of ${name.slice(0, 40)} is not sent`);
}

/** What stands between the values of a list or an object that is one text; undefined when each is sent by name. */
function separatorOf({ style, explode, collectionFormat, type }: Value, shape: Shape): string | undefined {
  if (type === 'array') {
    // Swagger 2 joins with commas unless told otherwise.
    const format = textOf(collectionFormat ?? 'csv');
    return format === 'multi' ? undefined : ({ ssv: 'spaces', tsv: 'tabs', pipes: '|' }[format] ?? 'commas');
  }
  if (explode === true || (!shape.isList && shape.properties.size === 0)) return undefined;
  if (style === 'spaceDelimited') return 'spaces';
  if (style === 'pipeDelimited') return '|';
  if (explode !== false) return undefined;
  return shape.isList ? 'commas' : 'commas: name,value,name,value';
}

interface Shape {
  isList: boolean;
  properties: ReadonlySet<string>;
}

const noShape: Shape = { isList: false, properties: new Set() };

/** What a value is made of, through references and compositions. */
function shapeOf(schema: unknown, document: ApiDocument, depth = 0): Shape {
  const found = depth > 8 ? undefined : document.resolve(schema);
  if (!found) return noShape;
  const properties = new Set(isObject(found['properties']) ? Object.keys(found['properties']) : []);
  let isList = [found['type']].flat().includes('array') || isObject(found['items']);
  const parts = (key: string): Shape[] =>
    (Array.isArray(found[key]) ? found[key] : [])
      .filter((each) => document.resolve(each)?.['type'] !== 'null')
      .map((each) => shapeOf(each, document, depth + 1));
  const [all, either] = [parts('allOf'), [...parts('anyOf'), ...parts('oneOf')]];
  // What may also be a plain value is not sent by the names of its properties.
  const named = either.every((each) => each.properties.size > 0) ? [...all, ...either] : all;
  for (const each of named) for (const name of each.properties) properties.add(name);
  isList ||= [...all, ...either].some((each) => each.isList);
  return { isList, properties };
}

/** Without the alternatives that are no objects: they cannot be said where each property is sent by its name. */
function onlyObjects(schema: Value, document: ApiDocument): Value {
  const kept = ['anyOf', 'oneOf'].flatMap((key) => {
    const all = Array.isArray(schema[key]) ? schema[key] : [];
    const objects = all.filter((each) => shapeOf(each, document).properties.size > 0);
    return objects.length > 0 && objects.length < all.length ? [[key, objects] as const] : [];
  });
  return kept.length === 0 ? schema : { ...schema, ...Object.fromEntries(kept) };
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
