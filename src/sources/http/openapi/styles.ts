import { isObject, textOf, type FieldStyle } from '../../../schema/index.ts';
import { isByteType } from '../byte-types.ts';
import type { ApiDocument, Value } from './document.ts';

/** How a parameter of the query is written; undefined for a plain value, and for a list that is repeated. */
export function queryStyle(
  parameter: Value,
  schema: Value,
  isJson: boolean,
  document: ApiDocument,
): FieldStyle | undefined {
  const shape = shapeOf(schema, document);
  if (isJson) return shape.isList || shape.isObject ? 'json' : undefined;
  return document.isSwagger2 ? joinedBy(parameter, shape) : styleOf(parameter, shape);
}

/** How each field of a form is written that is not written as forms usually are. */
export function formStyles(
  schema: Value,
  encoding: unknown,
  isMultipart: boolean,
  document: ApiDocument,
): Record<string, FieldStyle> {
  const styles: Record<string, FieldStyle> = {};
  for (const [name, field] of propertiesOf(schema, document)) {
    const said = isObject(encoding) && isObject(encoding[name]) ? encoding[name] : {};
    const style = fieldStyle(field, said, isMultipart, document);
    if (style !== undefined) styles[name] = style;
  }
  return styles;
}

function fieldStyle(field: Value, said: Value, isMultipart: boolean, document: ApiDocument): FieldStyle | undefined {
  const shape = shapeOf(field, document);
  if (isMultipart && (shape.isFile || isByteType(textOf(said['contentType'])))) return 'file';
  if (document.isSwagger2) return joinedBy(field, shape);
  // Only what is said of the style counts; without it the type of the content decides.
  if (said['style'] !== undefined || said['explode'] !== undefined) return styleOf(said, shape);
  return shape.isList && /json/i.test(textOf(said['contentType'])) ? 'json' : undefined;
}

function styleOf({ style, explode }: Value, shape: Shape): FieldStyle | undefined {
  if (!shape.isList && !shape.isObject) return undefined;
  if (style === 'deepObject') return 'deepObject';
  if (explode !== true && style === 'spaceDelimited') return 'spaces';
  if (explode !== true && style === 'pipeDelimited') return 'pipes';
  if (explode === false) return 'commas';
  return shape.isObject ? 'exploded' : undefined;
}

const joints = new Map<string, FieldStyle>([
  ['ssv', 'spaces'],
  ['tsv', 'tabs'],
  ['pipes', 'pipes'],
]);

/** Swagger 2 joins lists with commas unless told otherwise. */
function joinedBy({ collectionFormat }: Value, shape: Shape): FieldStyle | undefined {
  if (!shape.isList || collectionFormat === 'multi') return undefined;
  return joints.get(textOf(collectionFormat)) ?? 'commas';
}

interface Shape {
  isList: boolean;
  isObject: boolean;
  /** Or a list of files. */
  isFile: boolean;
}

const composed = ['allOf', 'anyOf', 'oneOf'];

/** What a value may be, through references and compositions. */
function shapeOf(schema: unknown, document: ApiDocument, depth = 0): Shape {
  const found = depth > 8 ? undefined : document.resolve(schema);
  if (!found) return { isList: false, isObject: false, isFile: false };
  const types = [found['type']].flat();
  const parts = composed
    .flatMap((key) => (Array.isArray(found[key]) ? found[key] : []))
    .map((each) => shapeOf(each, document, depth + 1));
  const isList = types.includes('array') || isObject(found['items']);
  return {
    isList: isList || parts.some((each) => each.isList),
    isObject:
      types.includes('object') ||
      isObject(found['properties']) ||
      isObject(found['additionalProperties']) ||
      parts.some((each) => each.isObject),
    isFile:
      types.includes('file') ||
      found['format'] === 'binary' ||
      isByteType(textOf(found['contentMediaType'])) ||
      (isList && shapeOf(found['items'], document, depth + 1).isFile) ||
      parts.some((each) => each.isFile),
  };
}

/** The fields of a form, through references and compositions. */
function propertiesOf(schema: unknown, document: ApiDocument, depth = 0): Map<string, Value> {
  const found = depth > 8 ? undefined : document.resolve(schema);
  const own = isObject(found?.['properties']) ? Object.entries(found['properties']) : [];
  const parts = composed.flatMap((key) => (Array.isArray(found?.[key]) ? (found[key] as unknown[]) : []));
  return new Map([
    ...parts.flatMap((each) => [...propertiesOf(each, document, depth + 1)]),
    ...own.filter((entry): entry is [string, Value] => isObject(entry[1])),
  ]);
}
