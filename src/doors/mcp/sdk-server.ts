import { Server, type CallToolResult, type ListToolsResult, type ServerContext } from '@modelcontextprotocol/server';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv';
import type { Era, Exchange, JsonObject } from './exchange.ts';
import type { Handlers } from './handlers.ts';

export interface SdkServerOptions {
  version: string;
  era: Era;
  capabilities: Record<string, JsonObject>;
  instructions: string | undefined;
  handlers: Handlers;
  exchange(context: ServerContext): Exchange;
  /** 2025 era, where a connection has a memory. */
  session?: {
    setLevel(level: string): void;
    subscribe(uri: string): Promise<void>;
    unsubscribe(uri: string): Promise<void>;
  };
}

// Nothing is validated with it: our gate does that. One for all keeps a server instance small.
const validator = new AjvJsonSchemaValidator();
const answered = [
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
  'completion/complete',
] as const;

/** The SDK's server over our handlers: it knows the protocol, they know the answers. */
export function sdkServer({
  version,
  capabilities,
  instructions,
  handlers,
  exchange,
  session,
}: SdkServerOptions): Server {
  const server = new Server(
    { name: 'oubliette', version },
    { capabilities, instructions, jsonSchemaValidator: validator },
  );
  server.setRequestHandler(
    'tools/list',
    async (request, context) => (await handlers.listTools(exchange(context), request.params ?? {})) as ListToolsResult,
  );
  server.setRequestHandler(
    'tools/call',
    async (request, context) => (await handlers.callTool(exchange(context), request.params)) as CallToolResult,
  );
  for (const method of answered) {
    if (!isOffered(method, capabilities)) continue;
    server.setRequestHandler(method, async (request: { params?: JsonObject }, context: ServerContext) => {
      const { _meta, ...params } = request.params ?? {};
      // Each method has an answer of its own, and the loop does not tell the checker which one this is.
      return (await handlers.serve(exchange(context), method, params)) as never;
    });
  }
  if (!session) return server;
  server.setRequestHandler('logging/setLevel', async (request) => {
    session.setLevel(request.params.level);
    return {};
  });
  if (capabilities['resources']?.['subscribe'] !== true) return server;
  server.setRequestHandler('resources/subscribe', async (request) => {
    await session.subscribe(request.params.uri);
    return {};
  });
  server.setRequestHandler('resources/unsubscribe', async (request) => {
    await session.unsubscribe(request.params.uri);
    return {};
  });
  return server;
}

function isOffered(method: string, capabilities: Record<string, JsonObject>): boolean {
  const family = method === 'completion/complete' ? 'completions' : method.slice(0, method.indexOf('/'));
  return capabilities[family] !== undefined;
}
