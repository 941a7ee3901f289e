/** What the server refused, a tool failed with, or why no server answered: the catalogue's code and sentence. */
export class OublietteError extends Error {
  override readonly name = 'OublietteError';
  readonly code: string;
  readonly status: number;
  readonly details: { path: string; message: string }[];
  readonly retryable: boolean;
  constructor(
    code: string,
    message: string,
    status: number,
    more: { details?: { path: string; message: string }[]; retryable?: boolean; cause?: unknown } = {},
  ) {
    super(message, 'cause' in more ? { cause: more.cause } : {});
    this.code = code;
    this.status = status;
    this.details = more.details ?? [];
    this.retryable = more.retryable ?? false;
  }
}

export interface Http {
  /** Calls a tool by name and answers its value; throws an OublietteError, or the reason of the signal. */
  call<T>(name: string, args: object, signal?: AbortSignal): Promise<T>;
  /** A response whose body is to be read as a stream. */
  stream(path: string, headers: Record<string, string>, signal: AbortSignal): Promise<Response>;
}

/** The few requests that the library is made of. */
export function http(url: string, token: string | undefined, fetch: typeof globalThis.fetch): Http {
  const base = url.replace(/\/+$/, '');
  const auth: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const request = async (path: string, init: RequestInit): Promise<Response> => {
    const headers = { ...auth, ...(init.headers as Record<string, string>) };
    const response = await fetch(base + path, { ...init, headers }).catch((error: unknown) => {
      if (init.signal?.aborted) throw error;
      throw notThere(base, error);
    });
    if (response.ok) return response;
    throw await refused(response);
  };
  return {
    async call<T>(name: string, args: object, signal?: AbortSignal): Promise<T> {
      const response = await request(`/call/${encodeURIComponent(name)}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ args }),
        ...(signal && { signal }),
      });
      const answer = (await response.json().catch((error: unknown) => {
        if (signal?.aborted) throw error;
        throw notThere(base, error);
      })) as Answer<T>;
      if (answer.ok) return answer.value;
      throw new OublietteError(answer.error.code, answer.error.message, 200, { retryable: answer.error.retryable });
    },
    stream: (path, headers, signal) => request(path, { headers: { accept: 'text/event-stream', ...headers }, signal }),
  };
}

const notThere = (url: string, cause: unknown): OublietteError =>
  new OublietteError('source.unreachable', `No Oubliette answers at ${url}. Start one with: npx oubliette`, 0, {
    retryable: true,
    cause,
  });

type Answer<T> = { ok: true; value: T } | { ok: false; error: { code: string; message: string; retryable: boolean } };

async function refused(response: Response): Promise<OublietteError> {
  const body = (await response.json().catch(() => undefined)) as
    { error?: { code: string; message: string; details?: { path: string; message: string }[] } } | undefined;
  const { code = 'server.internal', message = `HTTP ${response.status}`, details = [] } = body?.error ?? {};
  return new OublietteError(code, message, response.status, {
    details,
    retryable: response.status >= 500 || response.status === 429,
  });
}
