import { parse as parseYaml } from 'yaml';
import {
  exactInteger,
  fail,
  isObject,
  mayHoldLongInteger,
  parseExactly,
  pointerKey,
  textOf,
  valueAt,
} from '../../../schema/index.ts';

export type Value = Record<string, unknown>;

/** An OpenAPI or Swagger document, with its references resolved on demand. */
export interface ApiDocument {
  root: Value;
  isSwagger2: boolean;
  /** Follows local references; undefined when it leads nowhere, outside the document, or in a circle. */
  resolve(value: unknown): Value | undefined;
  /** The value at `#/a/b`. */
  at(ref: string): unknown;
}

const mostHops = 32;

/** Reads JSON or YAML; integers that are too long for a number stay as written. Throws import.invalid that says what is wrong. */
export function parseDocument(text: string): unknown {
  // Also without the mark that some editors put before the first character.
  const trimmed = text.trimStart();
  try {
    return trimmed.startsWith('{') ? parseExactly(trimmed) : parseYamlExactly(trimmed);
  } catch (error) {
    throw fail('import.invalid', { reason: `it is neither JSON nor YAML: ${(error as Error).message.slice(0, 300)}` });
  }
}

function parseYamlExactly(text: string): unknown {
  const intAsBigInt = mayHoldLongInteger(text);
  const value: unknown = parseYaml(text, { maxAliasCount: 1_000, intAsBigInt });
  return withoutCircles(intAsBigInt ? withNumbers(value, new Set()) : value);
}

/** Changes in place what was read as big integers; an alias may lead to the same object twice. */
function withNumbers(value: unknown, seen: Set<object>): unknown {
  if (typeof value === 'bigint') return exactInteger(value);
  if (typeof value !== 'object' || value === null || seen.has(value)) return value;
  seen.add(value);
  for (const [key, each] of Object.entries(value)) {
    const changed = withNumbers(each, seen);
    if (changed !== each) (value as Value)[key] = changed;
  }
  return value;
}

/** Throws for a value that holds itself, as an alias in YAML can say: it has no end. */
function withoutCircles(value: unknown): unknown {
  try {
    JSON.stringify(value);
  } catch {
    throw new Error('an alias leads back to itself, or the text is too large');
  }
  return value;
}

/** Checks that this is a document we can read: OpenAPI 3.0, 3.1 (or newer 3.x) or Swagger 2.0. */
export function openDocument(root: unknown): ApiDocument {
  if (!isObject(root)) throw fail('import.invalid', { reason: 'it holds no object, so it is no OpenAPI document' });
  const version = textOf(root['openapi'] ?? root['swagger']);
  const isSwagger2 = root['swagger'] !== undefined && version.startsWith('2');
  if (!isSwagger2 && !version.startsWith('3'))
    throw fail('import.invalid', {
      reason:
        version === ''
          ? 'it has no "openapi" or "swagger" version'
          : `OpenAPI version ${version.slice(0, 20)} is not supported. Use 3.0, 3.1 or 2.0`,
    });
  if (!isObject(root['paths']) && !isObject(root['webhooks']))
    throw fail('import.invalid', { reason: 'it has no paths' });
  const at = (ref: string): unknown => pointTo(root, ref);
  return {
    root,
    isSwagger2,
    at,
    resolve(value) {
      let found = value;
      for (let hops = 0; hops < mostHops; hops++) {
        if (!isObject(found)) return undefined;
        const ref = found['$ref'];
        if (typeof ref !== 'string') return found;
        found = at(ref);
      }
      return undefined;
    },
  };
}

function pointTo(root: Value, ref: string): unknown {
  if (!ref.startsWith('#')) return undefined;
  const keys = ref
    .slice(1)
    .split('/')
    .slice(1)
    .map((step) => pointerKey(decode(step)));
  return valueAt(root, keys);
}

function decode(step: string): string {
  if (!step.includes('%')) return step;
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}
