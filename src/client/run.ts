import { parseJSONRPCMessage, Server, type CallToolResult, type ServerContext } from '@modelcontextprotocol/server';
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { jsonText } from '../schema/json.ts';
import { readExactly } from '../schema/line-reader.ts';
import { callerToolsConfig, relayLineBytes, sessionOver, type CallerToolsConfig } from '../schema/relay.ts';
import { baseTools, callerTools, ownTools, unlistedOwnTool, type MenuTool } from './menu.ts';
import { RelayError, RelayLink } from './relay-link.ts';

export interface ClientOptions {
  socket: string;
  apiKey: string | undefined;
  version: string;
  /** One line of warning for whoever reads stderr. */
  warn(message: string): void;
}

/** The first `tools/list` waits this long for discovery and the caller's declaration. */
const settleMs = 3000;
const tickMs = 5000;

/** `oubliette-client`: MCP over stdio towards the agent, the session's socket towards the server. */
export async function runClient({ socket, apiKey, version, warn }: ClientOptions): Promise<void> {
  let own: MenuTool[] = [];
  let lent: MenuTool[] = [];
  const servers = new Set<Server>();
  const menu = (): MenuTool[] => [...baseTools, ...own, ...lent];
  const announce = (): void => servers.forEach((server) => void server.sendToolListChanged().catch(() => {}));

  let declared = (): void => {};
  const firstDeclaration = new Promise<void>((resolve) => (declared = resolve));
  let discovered = (): void => {};
  const firstDiscovery = new Promise<void>((resolve) => (discovered = resolve));
  let isWarned = false;

  const discover = async (): Promise<void> => {
    if (!apiKey) return discovered();
    try {
      const answer = (await link.call('oubliette_tools', { api_key: apiKey })) as {
        tools: Parameters<typeof ownTools>[1];
      };
      own = ownTools(apiKey, answer.tools);
    } catch (error) {
      own = [];
      if (!isWarned) warn(`the server's own tools are not available: ${(error as Error).message}`);
      isWarned = true;
    }
    discovered();
    announce();
  };

  const link = new RelayLink({
    path: socket,
    onConnect: () => void discover(),
    onNotification(method, params) {
      if (method === sessionOver) return link.end('the session is over');
      if (method !== callerToolsConfig) return;
      // Only our own server is at the other end.
      const config = params as unknown as CallerToolsConfig;
      lent = callerTools(config);
      link.graceMs = config.reconnect_grace_ms ?? link.graceMs;
      declared();
      announce();
    },
  });

  // Counted from the first question: a client of the warm pool can wait long for the session it will belong to.
  let settled: Promise<unknown> | undefined;
  const settle = (): Promise<unknown> =>
    (settled ??= Promise.race([
      Promise.all([firstDeclaration, firstDiscovery]),
      new Promise((resolve) => setTimeout(resolve, settleMs).unref()),
    ]));

  const makeServer = (): Server => {
    const server = new Server(
      { name: 'oubliette-client', version },
      { capabilities: { tools: { listChanged: true } } },
    );
    servers.add(server);
    server.setRequestHandler('tools/list', async () => {
      await settle();
      return { tools: menu().map(({ name, description, inputSchema }) => ({ name, description, inputSchema })) };
    });
    server.setRequestHandler('tools/call', async (request, context) => {
      await settle();
      const { name } = request.params;
      const tool =
        menu().find((each) => each.name === name) ??
        (apiKey && own.length > 0 ? unlistedOwnTool(apiKey, name) : undefined);
      if (!tool) return failed(`There is no tool ${name}.`);
      return callTool(link, tool, request.params.arguments ?? {}, context);
    });
    return server;
  };

  const transport = new StdioServerTransport(process.stdin, process.stdout);
  readExactly(transport, relayLineBytes + 1_048_576, (message) => transport.onmessage?.(parseJSONRPCMessage(message)));
  const handle = serveStdio(makeServer, { transport });
  await new Promise<void>((resolve) => {
    process.stdin.once('end', resolve).once('close', resolve);
    // A line beyond the buffer closes the transport: an agent that sees its server end does not wait for the answer.
    const close = transport.onclose;
    transport.onclose = () => (close?.(), resolve());
  });
  link.end('the agent is gone');
  await handle.close();
}

async function callTool(
  link: RelayLink,
  tool: MenuTool,
  args: Record<string, unknown>,
  context: ServerContext,
): Promise<CallToolResult> {
  const ticking = tick(context);
  try {
    const { method, params } = tool.call(args);
    const answer = await link.call(method, params, context.mcpReq.signal);
    if (tool.answers === 'content') return answer as CallToolResult;
    return {
      content: [{ type: 'text', text: jsonText(answer) }],
      isError: false,
    };
  } catch (error) {
    return failed(error instanceof RelayError ? error.message : `The call failed: ${(error as Error).message}`);
  } finally {
    clearInterval(ticking);
  }
}

/** Tells an agent that asked for progress that we are still there: our error, not its own patience, ends a call. */
function tick(context: ServerContext): NodeJS.Timeout | undefined {
  const progressToken = (context.mcpReq._meta as { progressToken?: string | number } | undefined)?.progressToken;
  if (progressToken === undefined) return undefined;
  let progress = 0;
  return setInterval(() => {
    const params = { progressToken, progress: ++progress, message: 'waiting for the answer' };
    void context.mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {});
  }, tickMs);
}

const failed = (text: string): CallToolResult => ({ content: [{ type: 'text', text }], isError: true });
