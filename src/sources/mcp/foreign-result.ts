import type { RpcError } from './wire.ts';
import { isLongInteger, isObject, parseExactly, type ContentBlock, type ToolResult } from '../../schema/index.ts';

/** Keeps bytes and answers where; absent where nothing can keep them. */
export type KeepBlob = (
  owner: string,
  bytes: Uint8Array,
  mimeType: string,
) => Promise<{ blob_id: string; size: number }>;
type Keep = (bytes: Uint8Array, mimeType: string) => ReturnType<KeepBlob>;

/**
 * A raw `tools/call` result as ours: the blocks stay for MCP clients; `value` is structured content if there is
 * any, else the one text (as JSON if it is an object or array), else the blocks with their bytes put aside.
 */
export function foreignResult(raw: Record<string, unknown>, keepBlob?: Keep): ToolResult | Promise<ToolResult> {
  const content = (Array.isArray(raw['content']) ? raw['content'] : []).filter(isBlock);
  const structured = raw['structuredContent'];
  const result: ToolResult = { value: undefined, content };
  if (structured !== undefined) result.structured = structured as Record<string, unknown>;
  if (raw['isError'] === true) result.isError = true;
  if (isObject(raw['_meta']) && !isLongInteger(raw['_meta'])) result.meta = withoutWireKeys(raw['_meta']);
  const [only] = content;
  if (structured !== undefined) result.value = structured;
  else if (content.length === 1 && only?.type === 'text') result.value = asJson(only.text);
  else if (content.length === 0) result.value = null;
  else return withoutAnyBytes(result, content, keepBlob);
  return result;
}

async function withoutAnyBytes(result: ToolResult, content: ContentBlock[], keepBlob?: Keep): Promise<ToolResult> {
  return { ...result, value: { content: await Promise.all(content.map((block) => withoutBytes(block, keepBlob))) } };
}

/** Where a result carries the protocol error that it stands for. */
export const rpcErrorKey = 'oubliette/rpcError';

/** A protocol error of the server as a failed result: everyone reads its text, an MCP client gets it back as it was. */
export function refusedResult({ code, message, data }: RpcError): ToolResult {
  const error = { code, message, ...(data !== undefined && { data }) };
  return { value: message, content: [{ type: 'text', text: message }], isError: true, meta: { [rpcErrorKey]: error } };
}

/** What has no type, or is a text without one, is no block that anyone could take. */
function isBlock(block: unknown): block is ContentBlock {
  return (
    isObject(block) &&
    typeof block['type'] === 'string' &&
    (block['type'] !== 'text' || typeof block['text'] === 'string')
  );
}

function asJson(text: string): unknown {
  const first = text.trimStart()[0];
  if (first !== '{' && first !== '[') return text;
  try {
    return parseExactly(text);
  } catch {
    return text;
  }
}

async function withoutBytes(block: ContentBlock, keepBlob?: Keep): Promise<unknown> {
  if (!keepBlob) return block;
  if ((block.type === 'image' || block.type === 'audio') && typeof block.data === 'string') {
    const { data, ...rest } = block;
    return { ...rest, ...(await keepBlob(Buffer.from(data, 'base64'), block.mimeType)) };
  }
  if (block.type === 'resource' && typeof block.resource?.blob === 'string') {
    const { blob, mimeType = 'application/octet-stream', ...about } = block.resource;
    const { resource: _, ...rest } = block;
    return { ...rest, ...about, mimeType, ...(await keepBlob(Buffer.from(blob, 'base64'), mimeType)) };
  }
  return block;
}

const wirePrefix = 'io.modelcontextprotocol/serverInfo';

function withoutWireKeys(meta: Record<string, unknown>): Record<string, unknown> | undefined {
  const { [wirePrefix]: _, ...rest } = meta;
  return Object.keys(rest).length > 0 ? rest : undefined;
}
