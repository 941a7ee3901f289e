import type { Observer } from '../../observe/index.ts';
import {
  toolResult,
  type BuiltInBundle,
  type Call,
  type OfferedFunction,
  type ToolResult,
} from '../../schema/index.ts';
import type { ResultStore } from '../../store/index.ts';
import { aliases, config, packs, snippets, tools, type Info } from './discovery.ts';
import { health, type HealthDeps } from './health.ts';
import { help, type HelpDeps } from './help.ts';
import { notify, type NotifyDeps } from './notify.ts';
import { queryResult, type ResultQuery } from './result-query.ts';
import { stats, type StatsArgs, type StatsDeps } from './stats.ts';
import { longYamlFlow } from './yaml-flow.ts';

export interface OtDeps extends HelpDeps, HealthDeps, NotifyDeps, StatsDeps {
  results: ResultStore;
  observe: Observer;
  /** Reads the configuration again; answers what is wrong with it. */
  reload: () => Promise<{ ok: boolean; errors: readonly string[] }>;
}

const pattern = { type: 'string', default: '', description: 'Only what contains this text, in any case.' };
const info = {
  type: 'string',
  enum: ['list', 'min', 'full'],
  default: 'min',
  description: 'list: names; min: with a short description; full: everything.',
};

type Run<T> = (args: T, call: Call) => unknown;

/** The `ot` pack: what there is, how to use it, what was stored, what happened. */
export function otTools(deps: OtDeps): BuiltInBundle {
  const { observe } = deps;

  const define = <T extends Record<string, unknown>>(
    slug: string,
    about: Pick<OfferedFunction, 'description' | 'returns' | 'example'> & {
      level?: OfferedFunction['level'];
      spanFields?: readonly string[];
    },
    properties: Record<string, unknown>,
    required: string[],
    run: Run<T>,
  ): OfferedFunction => {
    const { spanFields = [], level = 'read', ...texts } = about;
    return {
      slug,
      ...texts,
      level,
      tags: ['ot'],
      argSchema: { type: 'object', properties, ...(required.length > 0 && { required }), additionalProperties: false },
      run: (args: T, call: Call) => {
        const fields = Object.fromEntries(
          spanFields
            .filter((name) => args[name] !== undefined && args[name] !== null && args[name] !== '')
            .map((name) => [name, args[name]]),
        );
        return observe.span(`ot.${slug}`, { ...fields, requestId: call.requestId }, async () =>
          asResult(await run(args, call), call),
        );
      },
    };
  };

  return {
    slug: 'ot',
    displayName: 'OT',
    description: 'Discovery, help, stored results, statistics and configuration.',
    tools: [
      define<{ pattern: string; info: Info }>(
        'tools',
        {
          description: 'List tools, optionally those whose name contains a text.',
          returns: 'A list of names, or of {name, description}, or of full entries.',
          example: 'ot.tools(pattern="search", info="full")',
        },
        { pattern, info },
        [],
        (args, call) => tools(deps, call.actor, args),
      ),
      define<{ pattern: string; info: Info }>(
        'packs',
        {
          description: 'List packs, optionally those whose name contains a text.',
          returns: 'A list of names or of {name, source, tool_count}; with info="full" a text.',
          example: 'ot.packs()',
        },
        { pattern, info },
        [],
        (args, call) => packs(deps, call.actor, args),
      ),
      define<{ pattern: string; info: Info }>(
        'aliases',
        {
          description: 'List aliases: short names for functions.',
          returns: 'A list of "alias -> target", names, or {name, target}.',
          example: 'ot.aliases()',
        },
        { pattern, info },
        [],
        (args) => aliases(deps, args),
      ),
      define<{ pattern: string; info: Info }>(
        'snippets',
        {
          description: 'List snippets: named pieces of program with parameters.',
          returns: 'A list of "name: description" or names; with info="full" definitions as text.',
          example: 'ot.snippets(info="full")',
        },
        { pattern, info },
        [],
        (args) => snippets(deps, args),
      ),
      define(
        'config',
        {
          description: 'Show configured aliases, snippets and servers.',
          returns: '{aliases, snippets, servers}',
          example: 'ot.config()',
        },
        {},
        [],
        () => config(deps),
      ),
      define(
        'health',
        {
          description: 'Check the server, its tools and the MCP servers behind it.',
          returns: '{version, python, node, cwd, registry, proxy}',
          example: 'ot.health()',
        },
        {},
        [],
        (_, call) => health(deps, call.actor),
      ),
      define<{ query: string; info: Info }>(
        'help',
        {
          description: 'Explain a tool, pack, $snippet or alias, or find what fits a few words.',
          returns: 'A text; with info="list" a list of names.',
          example: 'ot.help(query="fetch a web page")',
        },
        {
          query: {
            type: 'string',
            default: '',
            description: 'A name, or what you need in a few words. Empty: an overview.',
          },
          info,
        },
        [],
        ({ query, info: level }, call) => help(deps, call.actor, query, level),
      ),
      define<ResultQuery & Record<string, unknown>>(
        'result',
        {
          description: 'Read lines of a large answer that was stored.',
          returns: '{lines, total_lines, returned, offset, has_more}',
          example: 'ot.result(handle="...", search="error")',
          spanFields: ['handle', 'offset', 'limit', 'search'],
        },
        {
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
        ['handle'],
        (args, call) => queryResult(deps.results, call.actor, args),
      ),
      define<StatsArgs & Record<string, unknown>>(
        'stats',
        {
          description: 'Show how often tools were called, how it went and what was saved.',
          returns: '{total_calls, success_rate, context_saved, time_saved_ms, tools}',
          example: 'ot.stats(period="day")',
        },
        {
          period: { type: 'string', default: 'all', description: 'day, week, month or all.' },
          tool: { type: 'string', default: '', description: 'Only this tool, such as "brave.search".' },
          output: {
            type: 'string',
            default: '',
            description: 'Also write an HTML report to this file (needs write level).',
          },
        },
        [],
        (args, call) => stats(deps, call.actor, args),
      ),
      define<{ topic: string; message: string }>(
        'notify',
        {
          description: 'Append a message to the file of a configured topic.',
          returns: '"OK: <topic> -> <path>" or "SKIP: no matching topic"',
          example: 'ot.notify(topic="notes", message="review the draft")',
          level: 'write',
        },
        {
          topic: { type: 'string', description: 'Chooses the file by the configured patterns.' },
          message: { type: 'string', description: 'The text to keep.' },
        },
        ['topic', 'message'],
        ({ topic, message }) => notify(deps, topic, message),
      ),
      define(
        'reload',
        {
          description: 'Read the configuration again.',
          returns: '"OK: Configuration reloaded", or what is wrong',
          example: 'ot.reload()',
          level: 'write',
        },
        {},
        [],
        async () => {
          const { ok, errors } = await deps.reload();
          return ok
            ? 'OK: Configuration reloaded'
            : `Error: Configuration not reloaded, the old one keeps serving: ${errors.join('; ')}`;
        },
      ),
      define(
        'version',
        { description: 'The version of this server.', returns: 'A version such as "1.0.0".', example: 'ot.version()' },
        {},
        [],
        () => deps.version,
      ),
    ],
  };
}

/** Programs and REST take the value; a model that called the tool itself reads YAML. */
async function asResult(value: unknown, call: Call): Promise<ToolResult> {
  const isForModel = call.parent === undefined && (call.actor.door === 'mcp' || call.actor.door === 'socket');
  if (!isForModel) return toolResult({ value });
  const text = typeof value === 'string' ? value : await longYamlFlow(value);
  return toolResult({ value, content: [{ type: 'text', text }] });
}
