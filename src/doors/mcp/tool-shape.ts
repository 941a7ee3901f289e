import { isLongInteger, isObject, type Outcome, type ToolView } from '../../schema/index.ts';
import type { Definition } from '../../sources/mcp/index.ts';
import type { Era, JsonObject } from './exchange.ts';

/** As much of a listed tool as its answer depends on. */
export interface Called {
  view: ToolView;
  isOwn: boolean;
}

/** A tool of ours as MCP lists it; made once per era and kept. */
export function ownShape(view: ToolView, name: string, isOwn: boolean): (era: Era) => JsonObject {
  return perEra((era) => {
    const isRun = view.name === 'run';
    return {
      name,
      ...(!isRun && !isOwn && view.displayName !== '' && view.displayName !== view.slug && { title: view.displayName }),
      ...(view.description !== undefined && { description: view.description }),
      inputSchema: inputSchemaOf(view.argSchema),
      ...(fitsEra(view.outputSchema, era) && { outputSchema: view.outputSchema }),
      // `run` can do whatever the token may do, so a hint would be a lie.
      ...(!isRun && { annotations: view.annotations ?? { readOnlyHint: view.level === 'read' } }),
    };
  });
}

/** A proxied tool exactly as its server describes it, texts cleaned. */
export function upstreamShape(definition: Definition): (era: Era) => JsonObject {
  return perEra((era) => {
    const { execution: _, outputSchema, ...rest } = definition;
    return {
      ...rest,
      inputSchema: inputSchemaOf(definition.inputSchema),
      ...(fitsEra(outputSchema, era) && { outputSchema }),
    };
  });
}

/** The answer to `tools/call`: text for every client, structured content where there is a schema or the tool is the server's own. */
export function callResult(outcome: Outcome, tool: Called, era: Era): JsonObject {
  const { result } = outcome;
  const meta = result?.meta && { _meta: result.meta };
  if (!outcome.ok) {
    const content = result?.content?.length ? result.content : [{ type: 'text', text: outcome.error.message }];
    return {
      ...meta,
      content,
      ...(isStructured(result?.structured, era) && { structuredContent: result?.structured }),
      isError: true,
    };
  }
  const structured = structuredOf(outcome, tool, era);
  return {
    ...meta,
    content: result?.content ?? [{ type: 'text', text: asText(outcome.value) }],
    ...(structured !== undefined && { structuredContent: structured }),
  };
}

/** A refusal that the model must read. */
export function refusal(message: string): JsonObject {
  return { content: [{ type: 'text', text: message }], isError: true };
}

function structuredOf(outcome: Outcome & { ok: true }, tool: Called, era: Era): unknown {
  const { structured } = outcome.result;
  if (structured !== undefined) return isStructured(structured, era) ? structured : undefined;
  if (!tool.isOwn && !fitsEra(tool.view.outputSchema, era)) return undefined;
  return isStructured(outcome.value, era) ? outcome.value : undefined;
}

// Before 2026 structured content is an object; now it may be anything.
const isStructured = (value: unknown, era: Era): boolean =>
  value !== undefined && (era === 'modern' || (isObject(value) && !isLongInteger(value)));

const fitsEra = (schema: unknown, era: Era): boolean =>
  isObject(schema) && (era === 'modern' || schema['type'] === 'object');

const asText = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? 'null'));

function perEra(make: (era: Era) => JsonObject): (era: Era) => JsonObject {
  const made: Partial<Record<Era, JsonObject>> = {};
  return (era) => (made[era] ??= make(era));
}

/** MCP wants an object at the top of every input schema. */
function inputSchemaOf(schema: unknown): JsonObject {
  if (!isObject(schema)) return { type: 'object' };
  return schema['type'] === 'object' ? schema : { ...schema, type: 'object' };
}
