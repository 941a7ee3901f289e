import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isObject, type OfferedTool } from '../../schema/index.ts';
import { cleanSchema, cleanText } from './foreign-text.ts';
import { argumentSchema, isUsableOutput, schemaProblem } from './schema-check.ts';
import { toolSlugs } from './tool-slugs.ts';

/** A tool as the upstream server lists it, with its texts cleaned. */
export interface Definition {
  name: string;
  title?: string;
  description?: string;
  inputSchema: unknown;
  outputSchema?: Record<string, unknown>;
  annotations?: Record<string, unknown>;
  [more: string]: unknown;
}

/** What a server's list became. */
export interface Definitions {
  byName: Map<string, Definition>;
  offered: OfferedTool[];
  /** Fingerprint per name: tells a changed definition. */
  prints: Record<string, string>;
  warnings: string[];
}

const mostTools = 20_000;

/** Takes a raw list: what is broken is set aside one by one, with the reason; the list as a whole never fails. */
export async function takeDefinitions(raw: readonly unknown[]): Promise<Definitions> {
  const warnings: string[] = [];
  const byName = new Map<string, Definition>();
  for (const each of raw.slice(0, mostTools)) {
    const name = isObject(each) ? each['name'] : undefined;
    if (typeof name !== 'string' || name === '') warnings.push('a tool without a name is left out');
    else if (byName.has(name)) warnings.push(`tool ${cleanText(name, 100)} is listed twice; the first one counts`);
    else byName.set(name, each as Definition);
  }
  if (raw.length > mostTools) warnings.push(`${raw.length} tools listed, only the first ${mostTools} are taken`);
  const slugs = toolSlugs(byName.keys());
  const offered: OfferedTool[] = [];
  const prints: Record<string, string> = Object.create(null);
  let done = 0;
  for (const [name, definition] of byName) {
    const tool = offer(definition, slugs.get(name) ?? name);
    if (tool.disabledReason) warnings.push(`${cleanText(name, 100)}: ${tool.disabledReason}`);
    else if (definition.outputSchema !== undefined && tool.clean.outputSchema === undefined)
      warnings.push(`${cleanText(name, 100)}: its output schema cannot be used; answers are not held against it`);
    byName.set(name, tool.clean);
    prints[name] = createHash('sha256').update(JSON.stringify(tool.clean)).digest('hex').slice(0, 16);
    offered.push(tool.offered);
    // Ten thousand tools are no reason to keep everybody waiting.
    if (++done % 200 === 0) await nextTurn();
  }
  return { byName, offered, prints, warnings: [...new Set(warnings)].slice(0, 50) };
}

/** Names whose definition is not what it was. */
export function changedNames(before: Record<string, string>, after: Record<string, string>): string[] {
  return Object.keys(after).filter((name) => before[name] !== undefined && before[name] !== after[name]);
}

function offer(raw: Definition, slug: string): { offered: OfferedTool; clean: Definition; disabledReason?: string } {
  const problem = schemaProblem(raw.inputSchema ?? { type: 'object' });
  const annotations = isObject(raw.annotations) ? raw.annotations : undefined;
  const title = typeof raw.title === 'string' ? raw.title : annotations?.['title'];
  const description = cleanText(typeof raw.description === 'string' ? raw.description : '');
  const outputSchema = isUsableOutput(raw.outputSchema) ? cleanSchema(raw.outputSchema) : undefined;
  const inputSchema = problem ? { type: 'object' } : cleanSchema(argumentSchema(raw.inputSchema ?? { type: 'object' }));
  const clean: Definition = { ...raw, inputSchema };
  if (raw.description !== undefined) clean.description = description;
  if (typeof raw.title === 'string') clean.title = cleanText(raw.title, 200);
  if (outputSchema) clean.outputSchema = outputSchema;
  else delete clean.outputSchema;
  if (annotations) clean.annotations = cleanSchema(annotations);
  else delete clean.annotations;
  return {
    clean,
    disabledReason: problem,
    offered: {
      slug,
      upstreamName: raw.name,
      displayName: cleanText(typeof title === 'string' && title !== '' ? title : raw.name, 200),
      description,
      argSchema: inputSchema as OfferedTool['argSchema'],
      ...(outputSchema && { outputSchema }),
      ...(clean.annotations && { annotations: clean.annotations }),
      level: annotations?.['readOnlyHint'] === true ? 'read' : 'write',
      ...(problem && { disabledReason: problem }),
    },
  };
}
