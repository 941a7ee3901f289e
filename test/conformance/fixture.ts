// The conformance fixture as a server of its own: `fixture.ts stdio`, `fixture.ts stdio legacy` or `fixture.ts http`, which says its port.
import { randomBytes, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toNodeHandler } from '@modelcontextprotocol/node';
import {
  createMcpHandler,
  createRequestStateCodec,
  hostHeaderValidationResponse,
  InMemoryServerEventBus,
  inputRequired,
  isLegacyRequest,
  localhostAllowedHostnames,
  MissingRequiredClientCapabilityError,
  originValidationResponse,
  ResourceNotFoundError,
  Server,
  WebStandardStreamableHTTPServerTransport,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { prompts, readResource, resources, templates, tools, type Asked, type Reply } from './fixture-tools.ts';

const [, , mode, detail] = process.argv;
const state = createRequestStateCodec({ key: randomBytes(32) });
const bus = new InMemoryServerEventBus();
const live = new Set<Server>();
const isLegacyOnly = detail === 'legacy';
let extra = 0;

function factory(): Server {
  const server = new Server(
    { name: 'fixture', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        completions: {},
        logging: {},
      },
      requestState: { verify: (text, context) => state.verify(text, context) },
      ...(isLegacyOnly && { supportedProtocolVersions: ['2025-11-25', '2025-06-18'] }),
    },
  );
  live.add(server);
  server.setRequestHandler('tools/list', () => ({
    tools: [
      ...Object.entries(tools),
      ...(extra ? [[`extra_${extra}`, { description: 'Came later', inputSchema: { type: 'object' } }] as const] : []),
    ].map(([name, { description, inputSchema }]) => ({ name, description, inputSchema })) as never,
  }));
  server.setRequestHandler('tools/call', async (request, context) => {
    const tool = tools[request.params.name];
    if (!tool && request.params.name.startsWith('extra_'))
      return { content: [{ type: 'text', text: 'late' }] } as never;
    if (!tool) throw Object.assign(new Error(`Tool ${request.params.name} not found`), { code: -32602 });
    const reply = await tool.run(
      askedBy(server, request.params.arguments ?? {}, context, request.params._meta?.progressToken),
    );
    return (await finished(reply, context)) as never;
  });
  server.setRequestHandler('prompts/list', () => ({
    prompts: Object.entries(prompts).map(([name, { description, arguments: args }]) => ({
      name,
      description,
      ...(args && { arguments: args }),
    })) as never,
  }));
  server.setRequestHandler('prompts/get', async (request, context) => {
    const prompt = prompts[request.params.name];
    if (!prompt) throw Object.assign(new Error(`Prompt ${request.params.name} not found`), { code: -32602 });
    return (await finished(
      prompt.run((request.params.arguments ?? {}) as Record<string, string>, context.mcpReq.inputResponses),
      context,
    )) as never;
  });
  server.setRequestHandler('resources/list', () => ({ resources }));
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: templates }));
  server.setRequestHandler('resources/read', (request) => {
    const found = readResource(request.params.uri);
    if (!found) throw new ResourceNotFoundError(request.params.uri);
    return { contents: [found] } as never;
  });
  server.setRequestHandler('resources/subscribe', () => ({}));
  server.setRequestHandler('resources/unsubscribe', () => ({}));
  server.setRequestHandler('completion/complete', (request) => ({
    completion: {
      values: ['paris', 'park', 'party'].filter((each) => each.startsWith(request.params.argument.value)),
      hasMore: false,
    },
  }));
  server.onclose = () => live.delete(server);
  return server;
}

function askedBy(
  server: Server,
  args: Record<string, any>,
  context: ServerContext,
  progressToken: string | number | undefined,
): Asked {
  const { mcpReq } = context;
  const envelope = mcpReq.envelope as Record<string, any> | undefined;
  return {
    args,
    answers: mcpReq.inputResponses,
    state: mcpReq.requestState(),
    can: envelope?.['io.modelcontextprotocol/clientCapabilities'] ?? server.getClientCapabilities() ?? {},
    progress: async (progress, total) => {
      if (progressToken !== undefined)
        await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total } });
    },
    log: (data) => mcpReq.log('info', data),
    changed: (what) => {
      if (what === 'tools') extra++;
      bus.publish({ kind: what === 'tools' ? 'tools_list_changed' : 'prompts_list_changed' });
      for (const each of live)
        void (what === 'tools' ? each.sendToolListChanged() : each.sendPromptListChanged()).catch(() => {});
    },
    needs: (requiredCapabilities) => {
      throw new MissingRequiredClientCapabilityError({ requiredCapabilities });
    },
  };
}

async function finished({ ask, state: kept, ...reply }: Reply, context: ServerContext): Promise<object> {
  if (!ask) return reply;
  return inputRequired({
    inputRequests: ask as never,
    ...(kept !== undefined && { requestState: await state.mint(kept, context) }),
  });
}

if (mode === 'stdio') serveStdio(factory);
else {
  const modern = createMcpHandler(factory, { legacy: 'reject', bus });
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const legacy = async (request: Request): Promise<Response> => {
    const known = sessions.get(request.headers.get('mcp-session-id') ?? '');
    if (known) return known.handleRequest(request);
    if (request.headers.has('mcp-session-id'))
      return Response.json(
        { jsonrpc: '2.0', error: { code: -32001, message: 'Session not found' }, id: null },
        { status: 404 },
      );
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    await factory().connect(transport);
    return transport.handleRequest(request);
  };
  const fetch = async (request: Request): Promise<Response> => {
    const refused =
      hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
      originValidationResponse(request, localhostAllowedHostnames());
    return refused ?? ((await isLegacyRequest(request)) ? legacy(request) : modern.fetch(request));
  };
  const server = createServer(toNodeHandler({ ...modern, fetch })).listen(0, '127.0.0.1', () =>
    console.log((server.address() as AddressInfo).port),
  );
}
