import type { Gate } from '../../gate/index.ts';
import { Failure, textOf, type Actor } from '../../schema/index.ts';
import { RpcError } from '../../sources/mcp/index.ts';
import type { Exchange, JsonObject } from './exchange.ts';
import { callName } from './menu.ts';

export interface Resources {
  serve(exchange: Exchange, method: string, params: JsonObject): Promise<JsonObject>;
}

const mostListed = 2_000;
const sessionUri = /^oubliette:\/\/sessions\/([^/]+)\/events$/;
const toolUri = /^ot:\/\/tool\/(.+)$/;

/** The session behind an events URI; undefined for any other URI. */
export const sessionOf = (uri: string): string | undefined => sessionUri.exec(uri)?.[1];

/** `ot://tools`, `ot://tool/{name}` and the events of agent sessions, each as far as the actor may see. */
export function resources(gate: Gate): Resources {
  async function read(actor: Actor, uri: string): Promise<JsonObject> {
    if (uri === 'ot://tools') return text(uri, 'text/plain', await allTools(actor));
    const tool = toolUri.exec(uri)?.[1];
    if (tool !== undefined) return text(uri, 'application/json', await oneTool(actor, decode(tool)));
    const sessionId = sessionOf(uri);
    if (sessionId === undefined) throw notFound(uri);
    const outcome = await gate.call(actor, 'session_events', { session_id: decode(sessionId) });
    if (!outcome.ok) throw notFound(uri);
    return text(uri, 'application/json', JSON.stringify(outcome.value));
  }

  async function allTools(actor: Actor): Promise<string> {
    const tools = await gate.list(actor, { limit: mostListed + 1 });
    const lines = tools.slice(0, mostListed).map((view) => `${callName(view)}: ${firstLine(view.description ?? '')}`);
    if (tools.length > mostListed) lines.push('... and more; search with ot.help(query="...")');
    return lines.join('\n');
  }

  async function oneTool(actor: Actor, name: string): Promise<string> {
    const view = await gate.resolve(actor, name.replace('.', '_'));
    const { description, argSchema, outputSchema, level, returns, example, tags, disabledReason } = view;
    const shown = {
      name: view.name,
      call: callName(view),
      description,
      level,
      tags,
      argSchema,
      outputSchema,
      returns,
      example,
      disabledReason,
    };
    return JSON.stringify(shown, null, 2);
  }

  return {
    async serve(exchange, method, params) {
      switch (method) {
        case 'resources/list':
          return {
            resources: [
              {
                uri: 'ot://tools',
                name: 'tools',
                description: 'Every tool in reach, one line each',
                mimeType: 'text/plain',
              },
            ],
          };
        case 'resources/templates/list':
          return {
            resourceTemplates: [
              {
                uriTemplate: 'ot://tool/{name}',
                name: 'tool',
                description: 'One tool: schema, level, example',
                mimeType: 'application/json',
              },
              {
                uriTemplate: 'oubliette://sessions/{id}/events',
                name: 'session events',
                description: 'Subscribe to be woken; read with session_events',
                mimeType: 'application/json',
              },
            ],
          };
        case 'resources/read': {
          const uri = textOf(params['uri']);
          try {
            return await read(exchange.actor, uri);
          } catch (error) {
            if (!(error instanceof Failure)) throw error;
            throw error.http === 403 ? new RpcError(-32602, error.message) : notFound(uri);
          }
        }
        default:
          throw new RpcError(-32601, 'Method not found');
      }
    },
  };
}

const text = (uri: string, mimeType: string, body: string): JsonObject => ({
  contents: [{ uri, mimeType, text: body }],
});
const notFound = (uri: string): RpcError => new RpcError(-32002, `Resource not found: ${uri.slice(0, 300)}`, { uri });
const firstLine = (description: string): string => description.split('\n', 1)[0]?.slice(0, 200) ?? '';

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
