import { isObject } from '../../schema/index.ts';

/** An argument that the 2026 era mirrors in an HTTP header, so that what lies between can route by it. */
export interface MirroredParam {
  path: string[];
  header: string;
  isNumber: boolean;
}

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const plain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;
const kept = new WeakMap<object, MirroredParam[]>();

/** The arguments that a tool's schema marks with `x-mcp-header`; found once per schema. */
export function mirroredParams(schema: unknown): MirroredParam[] {
  if (!isObject(schema)) return [];
  let found = kept.get(schema);
  if (!found) kept.set(schema, (found = scan(schema, [])));
  return found;
}

function scan(schema: Record<string, unknown>, path: string[]): MirroredParam[] {
  const { properties } = schema;
  if (!isObject(properties) || path.length > 8) return [];
  return Object.entries(properties).flatMap(([key, child]) => {
    if (!isObject(child)) return [];
    const name = child['x-mcp-header'];
    const here = [...path, key];
    const own =
      typeof name === 'string' && token.test(name)
        ? [
            {
              path: here,
              header: `Mcp-Param-${name}`,
              isNumber: child['type'] === 'integer' || child['type'] === 'number',
            },
          ]
        : [];
    return [...own, ...scan(child, here)];
  });
}

/** The headers to send along with these arguments. */
export function headersFor(params: readonly MirroredParam[], args: unknown): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { path, header } of params) {
    const text = asText(valueAt(args, path));
    if (text !== undefined)
      headers[header] =
        plain.test(text) && !text.startsWith('=?') ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`;
  }
  return headers;
}

/** What is wrong between headers and arguments; undefined when they agree. */
export function headerMismatch(
  params: readonly MirroredParam[],
  args: unknown,
  given: (header: string) => string | undefined,
): { header: string; body: string } | undefined {
  for (const { path, header, isNumber } of params) {
    const value = valueAt(args, path);
    const text = asText(value);
    if (text === undefined) continue;
    const at = path.join('.');
    const sent = given(header.toLowerCase());
    if (sent === undefined)
      return { header, body: `the body carries ${at}=${JSON.stringify(value)} but the ${header} header is absent` };
    const decoded = decode(sent);
    if (decoded === undefined) return { header, body: `the ${header} header carries an invalid Base64 sentinel value` };
    const isSame = isNumber && /^-?\d+(\.\d+)?$/.test(decoded) ? Number(decoded) === value : decoded === text;
    if (!isSame)
      return {
        header,
        body: `the ${header} header decodes to ${JSON.stringify(decoded)} but the body carries ${at}=${JSON.stringify(value)}`,
      };
  }
  return undefined;
}

function decode(value: string): string | undefined {
  if (!value.startsWith('=?base64?') || !value.endsWith('?=')) return value;
  const inner = value.slice(9, -2);
  if (!base64.test(inner)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(inner, 'base64'));
  } catch {
    return undefined;
  }
}

function valueAt(root: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((node, key) => (isObject(node) ? node[key] : undefined), root);
}

function asText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  return typeof value === 'number' &&
    Number.isFinite(value) &&
    (!Number.isInteger(value) || Number.isSafeInteger(value))
    ? String(value)
    : undefined;
}
