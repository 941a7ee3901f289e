import type { ProviderConfig } from '../../schema/index.ts';

export type Shape = ProviderConfig['shape'];

/** Tokens as a provider counts them; undefined where it did not say. */
export interface Counted {
  input?: number;
  output?: number;
}

/** What one kind of provider looks like from the outside. */
export interface ProviderShape {
  /** Inference paths only: nothing that manages files, keys or accounts. */
  allows(method: string, path: string): boolean;
  /** The header that carries the key. */
  keyHeader(key: string): Record<string, string>;
  /** The model that a request names. */
  model(path: string, body: Record<string, unknown>): string;
  /** The most output tokens that it asks for. */
  maxOutput(body: Record<string, unknown>): number | undefined;
  /** What must be in the request so that usage is reported. */
  prepare(body: Record<string, unknown>): Record<string, unknown>;
  /** Reads usage out of an answer or one event of a stream. */
  count(message: Record<string, unknown>): Counted;
  /** An error as this provider's clients expect it. */
  error(status: number, kind: ErrorKind, message: string): { status: number; body: object };
}

export type ErrorKind = 'budget' | 'refused' | 'unreachable' | 'too_large';

const number = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? Math.floor(value) : undefined;
const object = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const defined = (counted: Counted): Counted =>
  Object.fromEntries(Object.entries(counted).filter(([, value]) => value !== undefined));

const openaiErrors: Record<ErrorKind, string> = {
  budget: 'insufficient_quota',
  refused: 'invalid_request_error',
  unreachable: 'server_error',
  too_large: 'invalid_request_error',
};

const openai: ProviderShape = {
  allows: (method, path) =>
    method === 'POST'
      ? /^\/v1\/(chat\/completions|completions|responses|embeddings)$/.test(path)
      : method === 'GET' && /^\/v1\/models(\/[\w.:-]+)?$/.test(path),
  keyHeader: (key) => ({ authorization: `Bearer ${key}` }),
  model: (_, body) => text(body['model']),
  maxOutput: (body) =>
    number(body['max_completion_tokens']) ?? number(body['max_output_tokens']) ?? number(body['max_tokens']),
  prepare: (body) =>
    body['stream'] === true && Array.isArray(body['messages'])
      ? { ...body, stream_options: { ...object(body['stream_options']), include_usage: true } }
      : body,
  count(message) {
    // The Responses API puts it into the response of its last event.
    const usage = object(message['usage'] ?? object(message['response'])['usage']);
    return defined({
      input: number(usage['prompt_tokens']) ?? number(usage['input_tokens']),
      output: number(usage['completion_tokens']) ?? number(usage['output_tokens']),
    });
  },
  error(status, kind, message) {
    const type = openaiErrors[kind];
    return { status: kind === 'budget' ? 429 : status, body: { error: { message, type, param: null, code: type } } };
  },
};

const anthropicErrors: Record<ErrorKind, string> = {
  budget: 'billing_error',
  refused: 'permission_error',
  unreachable: 'api_error',
  too_large: 'request_too_large',
};

const anthropic: ProviderShape = {
  allows: (method, path) =>
    method === 'POST'
      ? /^\/v1\/messages(\/count_tokens)?$/.test(path)
      : method === 'GET' && /^\/v1\/models(\/[\w.:-]+)?$/.test(path),
  keyHeader: (key) => ({ 'x-api-key': key }),
  model: (_, body) => text(body['model']),
  maxOutput: (body) => number(body['max_tokens']),
  prepare: (body) => body,
  count(message) {
    const usage = object(message['usage'] ?? object(message['message'])['usage']);
    const cached =
      (number(usage['cache_creation_input_tokens']) ?? 0) + (number(usage['cache_read_input_tokens']) ?? 0);
    const input = number(usage['input_tokens']);
    return defined({ input: input === undefined ? undefined : input + cached, output: number(usage['output_tokens']) });
  },
  error(status, kind, message) {
    const type = anthropicErrors[kind];
    return { status: kind === 'budget' ? 402 : status, body: { type: 'error', error: { type, message } } };
  },
};

const geminiErrors: Record<ErrorKind, string> = {
  budget: 'RESOURCE_EXHAUSTED',
  refused: 'PERMISSION_DENIED',
  unreachable: 'UNAVAILABLE',
  too_large: 'PERMISSION_DENIED',
};

const gemini: ProviderShape = {
  allows: (method, path) =>
    method === 'POST'
      ? /^\/v1(beta)?\/models\/[\w.-]+:(generateContent|streamGenerateContent|countTokens|embedContent)$/.test(path)
      : method === 'GET' && /^\/v1(beta)?\/models(\/[\w.-]+)?$/.test(path),
  keyHeader: (key) => ({ 'x-goog-api-key': key }),
  model: (path) => /\/models\/([\w.-]+)/.exec(path)?.[1] ?? '',
  maxOutput: (body) => number(object(body['generationConfig'])['maxOutputTokens']),
  prepare: (body) => body,
  count(message) {
    const usage = object(message['usageMetadata']);
    const thoughts = number(usage['thoughtsTokenCount']) ?? 0;
    const output = number(usage['candidatesTokenCount']);
    return defined({
      input: number(usage['promptTokenCount']),
      output: output === undefined ? undefined : output + thoughts,
    });
  },
  error(status, kind, message) {
    const code = kind === 'budget' ? 429 : status;
    return { status: code, body: { error: { code, message, status: geminiErrors[kind] } } };
  },
};

export const shapes: Record<Shape, ProviderShape> = { openai, anthropic, gemini };

/** Joins a configured base URL and a path inside: a version in both is written once. */
export function targetUrl(baseUrl: string, path: string, query: URLSearchParams): string {
  const base = baseUrl.replace(/\/+$/, '');
  const version = /^\/v1(beta)?(?=\/)/.exec(path)?.[0] ?? '';
  const rest = version !== '' && base.endsWith(version) ? path.slice(version.length) : path;
  const kept = new URLSearchParams([...query].filter(([key]) => key === 'alt' || key === 'beta' || key === 'pageSize'));
  return `${base}${rest}${kept.size > 0 ? `?${kept}` : ''}`;
}
