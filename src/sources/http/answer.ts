import { fail, jsonFault, jsonText, parseForReaders, type HttpImpl, type ToolResult } from '../../schema/index.ts';
import type { RedactedItem, Redactor } from '../../store/index.ts';
import { itemReader, streamKind } from './answer-stream.ts';
import { isUnreadableType } from './byte-types.ts';
import { decodeText, isNoText } from './decode-text.ts';
import type { DialAnswer } from './dialler.ts';
import { readBody, readBytes } from './read-body.ts';
import { compileSelect } from './select.ts';

/** How a tool wants its answers read, compiled once. */
export interface AnswerPlan {
  isSuccess(status: number): boolean;
  errorMode: 'fail' | 'empty';
  /** Reads a successful answer to its end; items of a stream are told as they come. */
  read(answer: DialAnswer, limits: ReadLimits, onItem: (text: string) => void): Promise<ToolResult>;
}

/** Keeps bytes and says where; without it they stay in the answer. */
export type KeepBlob = (bytes: Uint8Array, mimeType: string) => Promise<{ blob_id: string; size: number }>;

export interface ReadLimits {
  tool: string;
  maxBytes: number;
  keepBlob?: KeepBlob | undefined;
  redactor: Pick<Redactor, 'items' | 'bytes'>;
}

type Encoding = 'json' | 'text' | undefined;

/** Compiles `httpImpl.response`; throws TemplateProblem when `select` is none. */
export function compileAnswer(response: HttpImpl['response'] = {}): AnswerPlan {
  const codes = response.successCodes?.length ? new Set(response.successCodes) : undefined;
  const select = compileSelect(response.select);
  const isSelecting = response.select !== undefined && response.select !== '';
  const pick = (value: unknown): ToolResult => {
    try {
      return { value: select(value) };
    } catch (error) {
      throw fail('tool.failed', { reason: `select could not be applied to the answer: ${(error as Error).message}` });
    }
  };
  return {
    isSuccess: (status) => codes?.has(status) ?? (status >= 200 && status < 300),
    errorMode: response.errorMode ?? 'fail',
    async read(answer, limits, onItem) {
      const { tool, maxBytes, keepBlob, redactor } = limits;
      const contentType = String(answer.headers['content-type'] ?? '');
      const kind = streamKind(contentType);
      if (kind) return pick(await readItems(answer, kind, response.encoding, limits, onItem));
      const bytes = await readBytes(answer, maxBytes, tool);
      if (bytes.length === 0) return pick(null);
      const isBytes = isUnreadableType(contentType) || isNoText(bytes, contentType);
      if (isBytes && response.encoding === undefined && !isSelecting)
        return binary(redactor.bytes(bytes), contentType, answer.url, keepBlob);
      return pick(
        parse(
          decodeText(bytes, contentType),
          response.encoding ?? (isSelecting ? 'json' : undefined),
          contentType,
          tool,
        ),
      );
    },
  };
}

async function readItems(
  answer: DialAnswer,
  kind: 'events' | 'lines',
  encoding: Encoding,
  { tool, maxBytes, redactor }: ReadLimits,
  onItem: (text: string) => void,
): Promise<unknown> {
  const items: unknown[] = [];
  // What a stream says bit by bit may be a secret as a whole: it is looked at across its items.
  const redacted = redactor.items();
  const texts: string[] = [];
  const show = (shown: RedactedItem[]): void => {
    for (const { value, isChanged } of shown) {
      const asSent = texts.shift()!;
      const text = isChanged ? jsonText(value) : asSent;
      items.push(encoding === 'text' ? text : value);
      onItem(text);
    }
  };
  const reader = itemReader(kind, (text) => {
    texts.push(text);
    show(redacted.push(itemOf(text, tool)));
  });
  await readBody(answer, maxBytes, tool, (chunk) => reader.push(chunk));
  reader.end();
  show(redacted.end());
  return encoding === 'text' ? items.join('\n') : items;
}

/** Deeper than any answer that means something; what comes after us walks values by recursion. */
const maxNesting = 500;

function parse(text: string, encoding: Encoding, contentType: string, tool: string): unknown {
  if (encoding === 'text') return text;
  if (text.trim() === '') return null;
  const isJson = encoding === 'json' || /[/+]json\b/i.test(contentType);
  if (!isJson && contentType !== '' && !/^\s*[[{]/.test(text)) return text;
  let value: unknown;
  try {
    value = parseForReaders(text);
  } catch (error) {
    if (!isJson) return text;
    throw fail('tool.failed', {
      reason: `The answer is no valid JSON (${contentType || 'no content type'}): ${jsonFault(error)}`,
    });
  }
  demandShallow(text, tool);
  return value;
}

function demandShallow(text: string, tool: string): void {
  if (nesting(text) > maxNesting)
    throw fail('tool.failed', { reason: `The answer of ${tool} is nested more than ${maxNesting} levels deep.` });
}

/** How deep lists and objects are nested. */
function nesting(text: string): number {
  let depth = 0;
  let deepest = 0;
  let isString = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (isString) {
      if (code === 92) at++;
      else if (code === 34) isString = false;
    } else if (code === 34) isString = true;
    else if (code === 91 || code === 123) deepest = Math.max(deepest, ++depth);
    else if (code === 93 || code === 125) depth--;
  }
  return deepest;
}

function itemOf(text: string, tool: string): unknown {
  let value: unknown;
  try {
    value = parseForReaders(text);
  } catch {
    return text;
  }
  demandShallow(text, tool);
  return value;
}

async function binary(
  bytes: Buffer,
  contentType: string,
  url: URL,
  keepBlob: KeepBlob | undefined,
): Promise<ToolResult> {
  const mimeType = contentType.split(';')[0]?.trim() || 'application/octet-stream';
  const data = bytes.toString('base64');
  const kind = (['image', 'audio'] as const).find((each) => mimeType.startsWith(`${each}/`));
  const block = kind
    ? ({ type: kind, data, mimeType } as const)
    : ({ type: 'resource', resource: { uri: url.origin + url.pathname, mimeType, blob: data } } as const);
  if (!keepBlob) return { value: { content: [block] }, content: [block] };
  const kept = { mimeType, ...(await keepBlob(bytes, mimeType)) };
  const shown = kind ? { type: kind, ...kept } : { type: 'resource', uri: url.origin + url.pathname, ...kept };
  return { value: { content: [shown] }, content: [block] };
}
