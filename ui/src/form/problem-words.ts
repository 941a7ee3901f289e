import type { OutputUnit } from '@cfworker/json-schema';
import type { JsonSchema } from '../api/shapes.ts';
import { pointed, resolve } from './read-schema.ts';

/** What does not fit, where and in the words in which the server says it; undefined for a summary of other findings. */
export function worded(
  finding: OutputUnit,
  schema: JsonSchema,
  value: unknown,
): [path: string, words: string] | undefined {
  const place = finding.instanceLocation;
  const path = decodeURIComponent(place.replace(/^#/, ''));
  const name = /"((?:[^"\\]|\\.)+)"/.exec(finding.error)?.[1] ?? '';
  const inside = `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
  const steps = finding.keywordLocation.replace(/^#\/?/, '').split('/');
  const owner = ownerOf(steps.slice(0, -1), schema);
  const rule = owner[finding.keyword];
  switch (finding.keyword) {
    case 'properties':
    case 'patternProperties':
    case 'items':
    case 'prefixItems':
    case 'allOf':
    case '$ref':
      return undefined;
    case 'required':
      return [inside, 'is required'];
    case 'additionalProperties':
      return [inside, `is not a known name${knownHere(owner)}`];
    case 'false':
      return [path, 'is not allowed here'];
    default:
      return [
        path,
        rule === undefined ? finding.error : (ruleWords(finding.keyword, rule, pointed(value, place)) ?? finding.error),
      ];
  }
}

function ruleWords(keyword: string, rule: unknown, found: unknown): string | undefined {
  const size = /^(min|max)(Length|Items|Properties)$/.exec(keyword);
  if (size) {
    const what = { Length: 'character', Items: 'item', Properties: 'field' }[
      size[2] as 'Length' | 'Items' | 'Properties'
    ];
    return `must have ${size[1] === 'min' ? 'at least' : 'at most'} ${String(rule)} ${what}${rule === 1 ? '' : 's'}`;
  }
  switch (keyword) {
    case 'type':
      return `must be ${[rule].flat().join(' or ')}, found ${kindOf(found)}`;
    case 'enum':
      return `must be one of ${(rule as unknown[]).slice(0, 20).map(short).join(', ')}, found ${short(found)}`;
    case 'const':
      return `must be ${short(rule)}, found ${short(found)}`;
    case 'pattern':
      return `must match the pattern ${short(rule)}`;
    case 'format':
      return `must be a valid ${String(rule)}`;
    case 'minimum':
      return `must be >= ${String(rule)}`;
    case 'maximum':
      return `must be <= ${String(rule)}`;
    case 'exclusiveMinimum':
      return `must be > ${String(rule)}`;
    case 'exclusiveMaximum':
      return `must be < ${String(rule)}`;
    case 'multipleOf':
      return `must be multiple of ${String(rule)}`;
    default:
      return undefined;
  }
}

/** The part of the schema that a rule stands in. Its place is told as it was reached: `$ref` is a step of it. */
function ownerOf(steps: string[], schema: JsonSchema): Record<string, unknown> {
  let at: unknown = schema;
  for (const step of steps) {
    if (step === '$ref') at = resolve({ $ref: (at as { $ref?: unknown } | undefined)?.$ref }, schema);
    else
      at = (at as Record<string, unknown> | undefined)?.[
        decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
      ];
  }
  return typeof at === 'object' && at !== null ? (at as Record<string, unknown>) : {};
}

function knownHere(owner: Record<string, unknown>): string {
  const known = Object.keys((owner['properties'] as object | undefined) ?? {});
  return known.length > 0 ? `; known here: ${known.slice(0, 20).join(', ')}` : '';
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

function short(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
