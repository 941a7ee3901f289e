import type { McpServer } from '@agentclientprotocol/sdk';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { ToolAnswer } from './program-port.ts';

/** Whoever answers has a deadline of its own; ours must never be the first to pass. */
const callTimeoutMs = 24 * 3600_000;

/** The tools of the MCP servers that a session was given. */
export interface McpTools {
  /** Name to argument schema, over all servers; the first server wins a name. */
  list(): Promise<Map<string, unknown>>;
  call(name: string, args: Record<string, unknown>, signal: AbortSignal): Promise<ToolAnswer>;
  close(): Promise<void>;
}

/** Starts the servers at once and in parallel; one that does not come up is named on stderr and left out. */
export function mcpTools(servers: McpServer[]): McpTools {
  const clients = servers.flatMap((server) => ('command' in server ? [connect(server)] : []));
  const owners = new Map<string, Client>();

  const list: McpTools['list'] = async () => {
    const found = new Map<string, unknown>();
    for (const client of await Promise.all(clients)) {
      if (!client) continue;
      const { tools } = await client.listTools().catch(() => ({ tools: [] }));
      for (const tool of tools) {
        const name = tool.name.replaceAll('-', '_');
        if (found.has(name)) continue;
        found.set(name, tool.inputSchema);
        owners.set(name, client);
        realNames.set(name, tool.name);
      }
    }
    return found;
  };
  // A dash cannot be part of a function's name in a program.
  const realNames = new Map<string, string>();

  return {
    list,
    async call(name, args, signal) {
      const client = owners.get(name);
      if (!client) return { error: `there is no tool ${name}` };
      try {
        const result = await client.callTool(
          { name: realNames.get(name) ?? name, arguments: args },
          { signal, timeout: callTimeoutMs },
        );
        const blocks = Array.isArray(result.content) ? result.content : [];
        const text = blocks.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
        if (result.isError) return { error: text || 'the tool failed without a word' };
        return { value: blocks.every((block) => block.type === 'text') ? parsed(text) : blocks };
      } catch (error) {
        if (signal.aborted) throw error;
        return { error: (error as Error).message };
      }
    },
    async close() {
      for (const client of await Promise.all(clients)) await client?.close().catch(() => {});
    },
  };
}

async function connect(server: Extract<McpServer, { command: string }>): Promise<Client | undefined> {
  const { name, command, args, env } = server;
  const client = new Client({ name: 'oubliette-embedded-agent', version: '1' });
  try {
    const variables = Object.fromEntries(env.map((each) => [each.name, each.value]));
    await client.connect(
      new StdioClientTransport({ command, args, env: { ...inherited(), ...variables }, stderr: 'inherit' }),
    );
    return client;
  } catch (error) {
    process.stderr.write(`MCP server ${name} does not start: ${(error as Error).message}\n`);
    return undefined;
  }
}

const inherited = (): Record<string, string> =>
  Object.fromEntries(Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined));

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
