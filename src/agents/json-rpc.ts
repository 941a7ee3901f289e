import { isObject, numberOf } from '../schema/json.ts';

export type RpcId = string | number;
export type Incoming =
  | { kind: 'request'; id: RpcId; method: string; params: Record<string, unknown> }
  | { kind: 'notification'; method: string; params: Record<string, unknown> }
  | { kind: 'result'; id: RpcId; result: Record<string, unknown> }
  | { kind: 'error'; id: RpcId; code: number; message: string };

/** Understands one line of JSON-RPC; undefined for anything else, which agents print as well. */
export function parseRpc(line: string): Incoming | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (!isObject(value)) return undefined;
  const { id, method, params, result, error } = value;
  const isId = typeof id === 'string' || typeof id === 'number';
  if (typeof method === 'string') {
    const given = isObject(params) ? params : {};
    return isId ? { kind: 'request', id, method, params: given } : { kind: 'notification', method, params: given };
  }
  if (!isId) return undefined;
  if (isObject(error)) return { kind: 'error', id, code: numberOf(error['code']) || 0, message: errorText(error) };
  return { kind: 'result', id, result: isObject(result) ? result : {} };
}

function errorText(error: Record<string, unknown>): string {
  const message = typeof error['message'] === 'string' ? error['message'] : 'unknown error';
  const data = error['data'];
  const detail = text(isObject(data) ? data['details'] : data);
  return detail && detail !== message ? `${message}: ${detail.slice(0, 2000)}` : message;
}

export const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
export const list = (value: unknown): Record<string, unknown>[] => (Array.isArray(value) ? value.filter(isObject) : []);
