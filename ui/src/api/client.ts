import { ApiError, type Detail } from './errors.ts';
import { csrfSecret, markReachable, markRefused } from './presence.ts';

export interface RequestOptions {
  body?: unknown;
  signal?: AbortSignal;
  headers?: Record<string, string>;
  /** How the answer is read; JSON.parse if left out. */
  read?: (text: string) => unknown;
}

/** Headers of every request: the cookie alone is not enough, because cookies ignore ports. */
export const ownHeaders = (): Record<string, string> => ({ 'x-oubliette-csrf': csrfSecret() });

/** Speaks to our own server. Throws an ApiError with the server's own words; status 0 means it could not be reached. */
export async function request<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
  const response = await send(method, path, options);
  if (response.status === 204) return undefined as T;
  const answer = await parse(response, options.read);
  if (!response.ok) throw refusal(response, answer);
  return answer as T;
}

export async function send(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
  const headers: Record<string, string> = { ...ownHeaders(), ...options.headers };
  let body: BodyInit | undefined;
  if (options.body instanceof Blob || options.body instanceof Uint8Array) body = options.body as BodyInit;
  else if (options.body !== undefined) {
    headers['content-type'] = 'application/json';
    body = JSON.stringify(options.body);
  }
  let response: Response;
  try {
    response = await fetch(path, { method, headers, body, signal: options.signal, credentials: 'same-origin' });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    markReachable(false);
    throw new ApiError(0, 'server.unreachable', 'The server cannot be reached.');
  }
  markReachable(true);
  if (response.status === 401) markRefused();
  return response;
}

/** Makes the error of a refused response. */
export function refusal(response: Response, answer: unknown): ApiError {
  const error = (
    answer as { error?: { code?: string; message?: string; details?: Detail[]; requestId?: string } } | null
  )?.error;
  return new ApiError(
    response.status,
    error?.code ?? `http.${response.status}`,
    error?.message ?? `${response.status} ${response.statusText}`,
    error?.details ?? [],
    error?.requestId,
  );
}

async function parse(response: Response, read: (text: string) => unknown = JSON.parse): Promise<unknown> {
  const text = await response.text();
  if (text === '') return null;
  try {
    return read(text);
  } catch {
    return text;
  }
}

export type Answer<T = unknown> =
  { ok: true; value: T } | { ok: false; error: { code: string; message: string; retryable: boolean } };

/** Calls any tool by name; what failed after dispatch is a value. */
export const callTool = <T>(name: string, args: Record<string, unknown>, signal?: AbortSignal): Promise<Answer<T>> =>
  request<Answer<T>>('POST', `/call/${encodeURIComponent(name)}`, { body: { args }, signal });

/** Calls one of the server's own tools and answers its value; every failure is an ApiError. */
export async function own<T>(name: string, args: Record<string, unknown> = {}, signal?: AbortSignal): Promise<T> {
  const answer = await callTool<T>(name, args, signal);
  if (answer.ok) return answer.value;
  throw new ApiError(200, answer.error.code, answer.error.message);
}
