/** A block of a tool's answer, in MCP's form but free of any SDK type. */
export type ContentBlock =
  | { type: 'text'; text: string }
  | { type: 'image' | 'audio'; data: string; mimeType: string }
  | { type: 'resource'; resource: { uri: string; mimeType?: string; text?: string; blob?: string } }
  | { type: 'resource_link'; uri: string; name: string; mimeType?: string; description?: string };

/**
 * What a source hands back. `value` is the answer for REST and programs; `content` keeps the original blocks
 * for MCP clients; `isError` marks a tool that ran and failed (the model must read it).
 */
export interface ToolResult {
  value: unknown;
  content?: ContentBlock[];
  structured?: Record<string, unknown>;
  isError?: boolean;
  /** The author chose to answer this error as null: it is not checked against outputSchema. */
  isEmpty?: boolean;
  /** Not an answer yet: a server of the 2026 era wants to know something of the client first. */
  inputRequired?: Record<string, unknown>;
  /** Opaque `_meta` of a proxied answer, passed on to MCP clients. */
  meta?: Record<string, unknown>;
}

const brand = Symbol('tool result');

/** Marks an answer as a whole ToolResult, so that a handler can hand back content blocks instead of a plain value. */
export function toolResult(result: ToolResult): ToolResult {
  return Object.defineProperty(result, brand, { value: true });
}

export function isToolResult(value: unknown): value is ToolResult {
  return typeof value === 'object' && value !== null && brand in value;
}
