import type { ErrorObject } from 'ajv';
import type { Detail } from './errors.ts';
import { pointerStep } from './json.ts';

const maxDetails = 20;

/** What does not fit, in words, each at its place below `root` ("/args/city"). */
export function explainErrors(errors: readonly ErrorObject[], root: string): Detail[] {
  const told = new Map<string, Detail>();
  for (const error of errors) {
    const detail = explain(error, root);
    told.set(`${detail.path} ${detail.message}`, detail);
    if (told.size === maxDetails) break;
  }
  return [...told.values()];
}

/** One line for messages: the first finding, and how many more there are. */
export function inOneLine(details: readonly Detail[]): string {
  const [first, ...others] = details;
  if (!first) return 'it does not fit';
  const more = others.length > 0 ? ` (and ${others.length} more)` : '';
  return `${first.path} ${first.message}${more}`;
}

function explain(error: ErrorObject, root: string): Detail {
  const at = root + error.instancePath;
  const say = (message: string, step?: unknown): Detail => ({
    path: (step === undefined ? at : `${at}/${pointerStep(String(step))}`) || '/',
    message,
  });
  const params = error.params as Record<string, unknown>;
  switch (error.keyword) {
    case 'required':
      return say('is required', params['missingProperty']);
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return say(
        `is not a known name${knownFields(error)}`,
        params['additionalProperty'] ?? params['unevaluatedProperty'],
      );
    case 'type':
      return say(`must be ${[params['type']].flat().join(' or ')}, found ${kindOf(error.data)}`);
    case 'enum':
      return say(
        `must be one of ${(params['allowedValues'] as unknown[]).slice(0, 20).map(short).join(', ')}, found ${short(error.data)}`,
      );
    case 'const':
      return say(`must be ${short(params['allowedValue'])}, found ${short(error.data)}`);
    case 'pattern':
      return say(`must match the pattern ${short(params['pattern'])}`);
    case 'format':
      return say(`must be a valid ${String(params['format'])}`);
    case 'false schema':
      return say('is not allowed here');
    default:
      return say(sizeText(error) ?? error.message ?? 'does not fit');
  }
}

/** What is too few or too many, in plain words. */
export function sizeText(error: ErrorObject): string | undefined {
  const { limit } = error.params as { limit?: number };
  const atLeast = error.keyword.startsWith('min') ? 'at least' : 'at most';
  const of = (what: string): string => `must have ${atLeast} ${limit} ${what}${limit === 1 ? '' : 's'}`;
  switch (error.keyword) {
    case 'minLength':
    case 'maxLength':
      return of('character');
    case 'minItems':
    case 'maxItems':
      return of('item');
    case 'minProperties':
    case 'maxProperties':
      return of('field') + (error.keyword === 'minProperties' ? knownFields(error) : '');
    default:
      return undefined;
  }
}

function knownFields(error: ErrorObject): string {
  const known = Object.keys((error.parentSchema?.['properties'] as object | undefined) ?? {});
  return known.length > 0 ? `; known here: ${known.slice(0, 20).join(', ')}` : '';
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value !== 'number') return typeof value;
  if (!Number.isFinite(value)) return 'a number out of range';
  return Number.isInteger(value) ? 'integer' : 'number';
}

function short(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
