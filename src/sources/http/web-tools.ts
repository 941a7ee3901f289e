import { Type } from 'typebox';
import {
  asFailure,
  fail,
  jsonFault,
  offerTool,
  type BuiltInBundle,
  type Call,
  parseForReaders,
} from '../../schema/index.ts';
import { decodeText } from './decode-text.ts';
import type { Dialler } from './dialler.ts';
import type { MarkdownMaker } from './markdown.ts';
import { networkReason } from './network-errors.ts';
import { acceptedEncodings, readBytes } from './read-body.ts';

const strict = { additionalProperties: false } as const;
const format = Type.Optional(
  Type.Unsafe<Format>({
    enum: ['text', 'markdown', 'json'],
    description: 'text (the default), markdown (HTML made readable) or json (parsed)',
  }),
);
const max_bytes = Type.Optional(
  Type.Integer({ minimum: 1, maximum: 4_194_304, description: 'Most bytes to read; 1 MiB if left out' }),
);
const timeout_ms = Type.Optional(
  Type.Integer({ minimum: 1, maximum: 60_000, description: 'Most time to take; 10,000 if left out' }),
);
type Format = 'text' | 'markdown' | 'json';

const FetchArgs = Type.Object(
  {
    url: Type.String({ description: 'http or https address; its host must be in allowedHosts' }),
    format,
    max_bytes,
    timeout_ms,
  },
  strict,
);
const BatchArgs = Type.Object(
  {
    urls: Type.Array(Type.String(), { minItems: 1, maxItems: 50, description: 'Addresses, fetched side by side' }),
    format,
    max_bytes,
    timeout_ms,
  },
  strict,
);
type FetchArgs = Type.Static<typeof FetchArgs>;
type BatchArgs = Type.Static<typeof BatchArgs>;

const defaultBytes = 1024 * 1024;
const defaultMs = 10_000;
const sideBySide = 8;

export interface WebDeps {
  dialler: Dialler;
  markdown: MarkdownMaker;
}

/** `web.fetch` and `web.fetch-batch`: pages of allowed hosts, nothing else. */
export function webTools(deps: WebDeps): BuiltInBundle {
  return {
    slug: 'web',
    displayName: 'Web',
    description: 'Fetches pages and documents from allowed hosts.',
    tools: [
      offerTool({
        slug: 'fetch',
        description:
          'Fetches one address by GET and answers it as text, as Markdown made from HTML, or as parsed JSON. Redirects between allowed hosts are followed.',
        level: 'read',
        argSchema: FetchArgs,
        returns: 'url (after redirects), status, content_type, content',
        example: 'web.fetch(url="https://example.com/", format="markdown")',
        run: (args, call) => fetchOne(deps, args, call.signal),
      }),
      offerTool({
        slug: 'fetch-batch',
        description: 'Fetches several addresses side by side; one that fails does not fail the others.',
        level: 'read',
        argSchema: BatchArgs,
        returns: 'results in the order of urls: each as web.fetch answers it, or url and error',
        example: 'web.fetch_batch(urls=["https://example.com/a", "https://example.com/b"])',
        run: async (args, call) => ({ results: await fetchAll(deps, args, call) }),
      }),
    ],
  };
}

async function fetchAll(deps: WebDeps, { urls, ...rest }: BatchArgs, call: Call): Promise<object[]> {
  const results: object[] = [];
  let next = 0;
  let done = 0;
  const work = async (): Promise<void> => {
    for (let at = next++; at < urls.length; at = next++) {
      const url = urls[at] as string;
      results[at] = await fetchOne(deps, { url, ...rest }, call.signal).catch((error: unknown) => {
        const { code, message } = asFailure(error);
        return { url, error: { code, message } };
      });
      call.progress({ progress: ++done, total: urls.length });
    }
  };
  await Promise.all(Array.from({ length: Math.min(sideBySide, urls.length) }, work));
  call.signal.throwIfAborted();
  return results;
}

async function fetchOne({ dialler, markdown }: WebDeps, args: FetchArgs, signal: AbortSignal): Promise<object> {
  const { url, format: wanted = 'text', max_bytes: maxBytes = defaultBytes, timeout_ms: timeoutMs = defaultMs } = args;
  const deadline = AbortSignal.timeout(timeoutMs);
  try {
    const headers = {
      accept: wanted === 'json' ? 'application/json, */*;q=0.5' : 'text/html, text/*;q=0.9, */*;q=0.5',
      'accept-encoding': acceptedEncodings,
      'user-agent': 'oubliette',
    };
    const answer = await dialler.fetch(url, { headers, signal: AbortSignal.any([signal, deadline]) });
    const contentType = String(answer.headers['content-type'] ?? '');
    const text = decodeText(await readBytes(answer, maxBytes, 'web_fetch'), contentType);
    const page = { url: answer.url.href, status: answer.status, content_type: contentType };
    if (answer.status >= 400)
      throw fail(
        'tool.failed',
        { reason: `${answer.url.host}${answer.url.pathname} answered ${answer.status}: ${text.slice(0, 300).trim()}` },
        { retryable: answer.status >= 500 },
      );
    if (wanted === 'json') return { ...page, content: parseJson(text, contentType) };
    if (wanted === 'text' || !isHtml(text, contentType)) return { ...page, content: text };
    return { ...page, content: await markdown.convert(text, AbortSignal.any([signal, deadline])) };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (deadline.aborted) throw fail('tool.timeout', { tool: 'web_fetch', timeoutMs });
    const reason = networkReason(error);
    if (reason === undefined) throw error;
    throw fail('source.unreachable', { what: URL.parse(url)?.host ?? 'The host', reason }, { cause: error });
  }
}

function parseJson(text: string, contentType: string): unknown {
  try {
    return parseForReaders(text);
  } catch (error) {
    throw fail('tool.failed', {
      reason: `The page is no JSON (${contentType || 'no content type'}): ${jsonFault(error)}`,
    });
  }
}

const isHtml = (text: string, contentType: string): boolean =>
  /html/i.test(contentType) || (contentType === '' && /^\s*<(!doctype html|html)/i.test(text));
