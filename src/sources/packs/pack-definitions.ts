import {
  compileSchema,
  isObject,
  isSlug,
  isTag,
  isVersion,
  type JsonSchema,
  type Level,
  type OfferedTool,
} from '../../schema/index.ts';
import { BrokenPack, type Exported } from './pack-process.ts';

/** A pack that was loaded and checked. */
export interface PackDefinition {
  displayName: string;
  description?: string;
  tools: OfferedTool[];
  /** The exported function that runs each tool, by the tool's slug. */
  exports: Map<string, string>;
}

const defaultTimeoutMs = 30_000;
const maxTimeoutMs = 600_000;
const levels: readonly unknown[] = ['read', 'write', 'admin'] satisfies Level[];

/** Turns what a file exports into a bundle; throws BrokenPack that says which export is wrong and how to mend it. */
export function readDefinition(slug: string, exported: Exported): PackDefinition {
  if (exported.tools.length === 0)
    throw new BrokenPack(
      'it exports no tool. Give an exported function a `tool` property with description and argSchema',
    );
  const bundle = isObject(exported.bundle) ? exported.bundle : {};
  const tools = exported.tools.map(({ name, info }) => readTool(name, info));
  const twice = tools.find((tool, index) => tools.findIndex((other) => other.slug === tool.slug) !== index);
  if (twice) throw new BrokenPack(`two exports are both the tool ${twice.slug}`);
  return {
    displayName: slug,
    ...givenTexts(bundle, ['displayName', 'description']),
    tools,
    exports: new Map(exported.tools.map(({ name }) => [slugOf(name), name])),
  };
}

const slugOf = (exportName: string): string => exportName.replaceAll('_', '-');

function readTool(exportName: string, info: unknown): OfferedTool {
  const slug = slugOf(exportName);
  const wrong = (what: string): BrokenPack => new BrokenPack(`${exportName}.tool: ${what}`);
  if (!isSlug(slug)) throw wrong('the function must be called by letters, digits and underscores');
  if (!isObject(info)) throw wrong('must be an object with description and argSchema');
  const description = text(info['description']);
  if (description === undefined) throw wrong('description is missing');
  const { argSchema, outputSchema, access = 'write', tags, version, timeoutMs = defaultTimeoutMs } = info;
  if (!isSchema(argSchema)) throw wrong('argSchema must be a JSON Schema');
  if (outputSchema !== undefined && !isSchema(outputSchema)) throw wrong('outputSchema must be a JSON Schema');
  if (!levels.includes(access)) throw wrong("access must be 'read', 'write' or 'admin'");
  if (version !== undefined && !(typeof version === 'string' && isVersion(version)))
    throw wrong('version must be letters, digits, dashes and dots');
  if (tags !== undefined && !(Array.isArray(tags) && tags.every((tag) => typeof tag === 'string' && isTag(tag))))
    throw wrong('tags must be a list of words');
  if (typeof timeoutMs !== 'number' || !(timeoutMs >= 1)) throw wrong('timeoutMs must be a number of milliseconds');
  return {
    slug,
    description,
    argSchema,
    level: access as Level,
    isPublic: true,
    limits: { timeoutMs: Math.min(Math.floor(timeoutMs), maxTimeoutMs) },
    ...(outputSchema !== undefined && { outputSchema }),
    ...(tags !== undefined && { tags: tags as string[] }),
    ...(version !== undefined && { version: version as string }),
    ...givenTexts(info, ['displayName', 'example', 'returns']),
  };
}

function isSchema(schema: unknown): schema is JsonSchema {
  if (!isObject(schema) && typeof schema !== 'boolean') return false;
  try {
    compileSchema(schema);
    return true;
  } catch {
    return false;
  }
}

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value : undefined;

/** Those of the fields that say something. */
function givenTexts<Key extends string>(from: Record<string, unknown>, keys: readonly Key[]): { [K in Key]?: string } {
  return Object.fromEntries(keys.map((key) => [key, text(from[key])]).filter(([, value]) => value !== undefined));
}
