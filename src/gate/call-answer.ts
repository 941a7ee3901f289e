import {
  compileSchema,
  fail,
  jsonText,
  mayHoldLongInteger,
  reasonOf,
  roundLongIntegers,
  type Actor,
  type CallOptions,
  type Outcome,
  type Settings,
  type ToolResult,
  type ToolView,
} from '../schema/index.ts';

const maxAnswerBytes = 4 * 1024 * 1024;
const maxInnerBytes = 16 * 1024 * 1024;

/** A call that went well. */
export type Done = Extract<Outcome, { ok: true }>;

export type Settled = {
  /** Size of the whole answer, kept or not. */
  bytes: number;
} & (
  | { outcome: Outcome; large?: undefined }
  | { outcome: Done; /** Too large for its door: the value as JSON. */ large: string }
);

/** Checks and bounds what came back; throws output.invalid or response.too_large. */
export function settle(
  actor: Actor,
  view: ToolView,
  result: ToolResult,
  options: CallOptions,
  settings: () => Settings,
): Settled {
  const value = result.value === undefined ? null : result.value;
  if (result.inputRequired) return { outcome: { ok: true, value: null, result }, bytes: 0 };
  if (result.isError) {
    const message = errorText(result);
    const outcome: Outcome = { ok: false, error: { code: 'tool.failed', message, retryable: false }, result };
    return { outcome, bytes: Buffer.byteLength(message) };
  }
  const json = JSON.stringify(value) ?? 'null';
  if (view.outputSchema !== undefined && !result.isEmpty) {
    // The validator knows numbers only; what is passed on are the integers as they are written.
    const seen = mayHoldLongInteger(json) ? roundLongIntegers(value) : value;
    const checked = compileSchema(view.outputSchema).check(seen, '/value');
    if (!checked.ok) throw fail('output.invalid', { tool: view.name, reason: reasonOf(checked.errors) });
  }
  const bytes = Buffer.byteLength(json);
  const cap = view.limits?.maxResponseBytes;
  if (cap !== undefined && bytes > cap) throw fail('response.too_large', { tool: view.name, limit: cap });
  const outcome: Done = { ok: true, value, json, result: result.value === value ? result : { ...result, value } };
  if (options.parent !== undefined) {
    if (bytes > maxInnerBytes) throw fail('response.too_large', { tool: view.name, limit: maxInnerBytes });
    return { outcome, bytes };
  }
  const limit = inlineLimit(actor, settings());
  if (bytes <= limit || isSelfBounded(view) || answerBytes(value, bytes) <= limit) return { outcome, bytes };
  return { outcome, bytes, large: json };
}

function errorText(result: ToolResult): string {
  const texts = result.content?.flatMap((block) => (block.type === 'text' ? [block.text] : [])) ?? [];
  if (texts.length > 0) return texts.join('\n');
  if (result.value === undefined || result.value === null) return 'It failed and did not say why.';
  return jsonText(result.value);
}

/** `run` bounds its own text, and a stored result is never stored again. */
function isSelfBounded(tool: ToolView): boolean {
  return tool.isBuiltIn && (tool.name === 'run' || tool.name === 'ot_result');
}

/** A string is answered as it is: quotes and escapes of its JSON do not count. */
function answerBytes(value: unknown, jsonBytes: number): number {
  return typeof value === 'string' ? Buffer.byteLength(value) : jsonBytes;
}

function inlineLimit(actor: Actor, settings: Settings): number {
  return actor.door === 'mcp' ? settings.output.maxInlineBytes : maxAnswerBytes;
}
