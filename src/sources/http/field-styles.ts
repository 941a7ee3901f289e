import { isObject, type FieldStyle } from '../../schema/index.ts';
import { forQuery } from './encodings.ts';
import { asText, TemplateProblem } from './template.ts';

/** One field of a query or a form, not encoded yet. */
export interface Field {
  name: string;
  value: unknown;
  /** What stands between the values of a list that is one field. */
  between?: string;
}

const joints: Partial<Record<FieldStyle, string>> = { commas: ',', spaces: ' ', tabs: '\t', pipes: '|' };
const maxDepth = 64;

/** The fields that a value becomes under its name. Without a style a list is repeated, and an object inside is JSON; null is left out. */
export function* fieldsOf(name: string, value: unknown, style?: FieldStyle): Generator<Field> {
  if (value === undefined || value === null) return;
  const between = style && joints[style];
  if (style === 'deepObject') yield* deepFields(name, value, 0);
  else if (style === 'json') yield { name, value: JSON.stringify(value) };
  else if (style === 'exploded' && isObject(value))
    for (const [key, each] of Object.entries(value)) yield* fieldsOf(key, each);
  else if (between !== undefined && typeof value === 'object') {
    const parts = Array.isArray(value) ? value : Object.entries(value).flat();
    if (parts.length > 0) yield { name, value: parts, between };
  } else if (Array.isArray(value)) for (const each of value) yield { name, value: each };
  else yield { name, value };
}

/** `name[key][inner]`; the items of a list as `name[]`, or by their numbers where they have parts of their own. */
function* deepFields(name: string, value: unknown, depth: number): Generator<Field> {
  if (depth > maxDepth) throw new TemplateProblem(`a value is nested more than ${maxDepth} levels deep`);
  if (value === undefined || value === null) return;
  if (typeof value !== 'object') return yield { name, value };
  const isPlainList = Array.isArray(value) && value.every((each) => typeof each !== 'object' || each === null);
  for (const [key, each] of Object.entries(value))
    yield* deepFields(isPlainList ? listName(name) : `${name}[${key}]`, each, depth + 1);
}

const listName = (name: string): string => (name.endsWith('[]') ? name : `${name}[]`);

/** A field as `name=value`; a comma that joins is no part of a value and stays a comma. */
export function fieldPair({ name, value, between }: Field): string {
  if (between === undefined) return `${forQuery(name)}=${forQuery(value)}`;
  const joint = between === ',' ? between : encodeURIComponent(between);
  return `${forQuery(name)}=${(value as unknown[]).map(forQuery).join(joint)}`;
}

/** A field's value where nothing needs to be encoded. */
export const fieldText = ({ value, between }: Field): string =>
  between === undefined ? asText(value) : (value as unknown[]).map(asText).join(between);
