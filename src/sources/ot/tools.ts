import type { Observer } from '../../observe/index.ts';
import {
  offerTool,
  toolResult,
  type ArgsOf,
  type BuiltInBundle,
  type Call,
  type OfferedFunction,
  type ToolResult,
  type TypedTool,
} from '../../schema/index.ts';
import { aliases, config, packs, snippets, tools } from './discovery.ts';
import { health, type HealthDeps } from './health.ts';
import { help, type HelpDeps } from './help.ts';
import { notify, type NotifyDeps } from './notify.ts';
import { queryResult, type ResultDeps } from './result-query.ts';
import { stats, type StatsDeps } from './stats.ts';
import { longYamlFlow } from './yaml-flow.ts';

export interface OtDeps extends HelpDeps, HealthDeps, NotifyDeps, StatsDeps, ResultDeps {
  observe: Observer;
  /** Reads the configuration again; answers what is wrong with it. */
  reload: () => Promise<{ ok: boolean; errors: readonly string[] }>;
}

const pattern = { type: 'string', default: '', description: 'Only what contains this text, in any case.' } as const;
const info = {
  type: 'string',
  enum: ['list', 'min', 'full'],
  default: 'min',
  description: 'list: names; min: with a short description; full: everything.',
} as const;

const listing = { type: 'object', properties: { pattern, info }, additionalProperties: false } as const;
const nothing = { type: 'object', properties: {}, additionalProperties: false } as const;

/** The `ot` pack: what there is, how to use it, what was stored, what happened. */
export function otTools(deps: OtDeps): BuiltInBundle {
  const otTool = spanned(deps.observe);
  return {
    slug: 'ot',
    displayName: 'OT',
    description: 'Discovery, help, stored results, statistics and configuration.',
    tools: [
      otTool({
        slug: 'tools',
        description: 'List tools, optionally those whose name contains a text.',
        returns: 'A list of names, or of {name, description}, or of full entries.',
        example: 'ot.tools(pattern="search", info="full")',
        argSchema: listing,
        run: (args, call) => tools(deps, call.actor, args),
      }),
      otTool({
        slug: 'packs',
        description: 'List packs, optionally those whose name contains a text.',
        returns: 'A list of names or of {name, source, tool_count}; with info="full" a text.',
        example: 'ot.packs()',
        argSchema: listing,
        run: (args, call) => packs(deps, call.actor, args),
      }),
      otTool({
        slug: 'aliases',
        description: 'List aliases: short names for functions.',
        returns: 'A list of "alias -> target", names, or {name, target}.',
        example: 'ot.aliases()',
        argSchema: listing,
        run: (args) => aliases(deps, args),
      }),
      otTool({
        slug: 'snippets',
        description: 'List snippets: named pieces of program with parameters.',
        returns: 'A list of "name: description" or names; with info="full" definitions as text.',
        example: 'ot.snippets(info="full")',
        argSchema: listing,
        run: (args) => snippets(deps, args),
      }),
      otTool({
        slug: 'config',
        description: 'Show configured aliases, snippets and servers.',
        returns: '{aliases, snippets, servers}',
        example: 'ot.config()',
        argSchema: nothing,
        run: () => config(deps),
      }),
      otTool({
        slug: 'health',
        description: 'Check the server, its tools and the MCP servers behind it.',
        returns: '{version, python, node, cwd, registry, proxy, warnings?}',
        example: 'ot.health()',
        argSchema: nothing,
        run: (_, call) => health(deps, call.actor),
      }),
      otTool({
        slug: 'help',
        description: 'Explain a tool, pack, $snippet or alias, or find what fits a few words.',
        returns: 'A text; with info="list" a list of names.',
        example: 'ot.help(query="fetch a web page")',
        argSchema: {
          type: 'object',
          properties: {
            query: {
              type: 'string',
              default: '',
              description: 'A name, or what you need in a few words. Empty: an overview.',
            },
            info,
          },
          additionalProperties: false,
        },
        run: ({ query, info: level }, call) => help(deps, call.actor, query, level),
      }),
      otTool({
        slug: 'result',
        description: 'Read lines of a large answer that was stored.',
        returns: '{lines, total_lines, returned, offset, has_more}',
        example: 'ot.result(handle="...", search="error")',
        spanFields: ['handle', 'offset', 'limit', 'search'],
        argSchema: {
          type: 'object',
          properties: {
            handle: { type: 'string', description: 'The handle that was answered instead of the output.' },
            offset: { type: 'integer', default: 1, description: 'First line, counted from 1.' },
            limit: { type: 'integer', default: 100, description: 'At most this many lines.' },
            search: {
              type: ['string', 'null'],
              default: '',
              description: 'Only lines that match this regular expression, in any case.',
            },
            fuzzy: { type: 'boolean', default: false, description: 'Find similar lines instead, best first.' },
          },
          required: ['handle'],
          additionalProperties: false,
        },
        run: (args, call) => queryResult(deps, call, args),
      }),
      otTool({
        slug: 'stats',
        description: 'Show how often tools were called, how it went and what was saved.',
        returns: '{total_calls, success_rate, context_saved, time_saved_ms, tools}',
        example: 'ot.stats(period="day")',
        argSchema: {
          type: 'object',
          properties: {
            period: { type: 'string', default: 'all', description: 'day, week, month or all.' },
            tool: { type: 'string', default: '', description: 'Only this tool, such as "brave.search".' },
            output: {
              type: 'string',
              default: '',
              description: 'Also write an HTML report to this file (needs write level).',
            },
          },
          additionalProperties: false,
        },
        run: (args, call) => stats(deps, call.actor, args),
      }),
      otTool({
        slug: 'notify',
        description: 'Append a message to the file of a configured topic.',
        returns: '"OK: <topic> -> <path>" or "SKIP: no matching topic"',
        example: 'ot.notify(topic="notes", message="review the draft")',
        level: 'write',
        argSchema: {
          type: 'object',
          properties: {
            topic: { type: 'string', description: 'Chooses the file by the configured patterns.' },
            message: { type: 'string', description: 'The text to keep.' },
          },
          required: ['topic', 'message'],
          additionalProperties: false,
        },
        run: ({ topic, message }) => notify(deps, topic, message),
      }),
      otTool({
        slug: 'reload',
        description: 'Read the configuration again.',
        returns: '"OK: Configuration reloaded", or what is wrong',
        example: 'ot.reload()',
        level: 'write',
        argSchema: nothing,
        run: async () => {
          const { ok, errors } = await deps.reload();
          return ok
            ? 'OK: Configuration reloaded'
            : `Error: Configuration not reloaded, the old one keeps serving: ${errors.join('; ')}`;
        },
      }),
      otTool({
        slug: 'version',
        description: 'The version of this server.',
        returns: 'A version such as "1.0.0".',
        example: 'ot.version()',
        argSchema: nothing,
        run: () => deps.version,
      }),
    ],
  };
}

interface OtTool<S extends object> extends Omit<TypedTool<S>, 'level' | 'tags'> {
  level?: OfferedFunction['level'];
  /** Arguments that are told with the span. */
  spanFields?: readonly (keyof ArgsOf<S>)[];
}

/** Every call of the pack is a span of its own in the log. */
const spanned =
  (observe: Observer) =>
  <const S extends object>({ spanFields = [], level = 'read', run, ...tool }: OtTool<S>): OfferedFunction =>
    offerTool<S>({
      ...tool,
      level,
      tags: ['ot'],
      run: (args, call) => {
        const fields = Object.fromEntries(
          spanFields
            .filter((name) => args[name] !== undefined && args[name] !== null && args[name] !== '')
            .map((name) => [name, args[name]]),
        );
        return observe.span(`ot.${tool.slug}`, { ...fields, requestId: call.requestId }, async () =>
          asResult(await run(args, call), call),
        );
      },
    });

/** Programs and REST take the value; a model that called the tool itself reads YAML. */
async function asResult(value: unknown, call: Call): Promise<ToolResult> {
  const isForModel = call.parent === undefined && (call.actor.door === 'mcp' || call.actor.door === 'socket');
  if (!isForModel) return toolResult({ value });
  const text = typeof value === 'string' ? value : await longYamlFlow(value);
  return toolResult({ value, content: [{ type: 'text', text }] });
}
