import type { McpServer } from '@agentclientprotocol/sdk';
import { parseExactly } from '../../schema/json.ts';
import { list as objects, text } from '../json-rpc.ts';
import { connectMcp, type McpConnection } from './mcp-connection.ts';
import type { ToolAnswer } from './program-port.ts';

const maxPages = 100;

/** The tools of the MCP servers that a session was given. */
export interface McpTools {
  /** Name to argument schema, over all servers; the first server wins a name. */
  list(): Promise<Map<string, unknown>>;
  /** Waits as long as the server takes: the other side has a deadline, and ours must never expire first. */
  call(name: string, args: Record<string, unknown>, signal: AbortSignal): Promise<ToolAnswer>;
  close(): Promise<void>;
}

/** Starts the servers at once and in parallel; one that does not come up is named on stderr and left out. */
export function mcpTools(servers: McpServer[]): McpTools {
  const connections = servers.flatMap((server) => ('command' in server ? [connect(server)] : []));
  // A dash cannot be part of a function's name in a program.
  const owners = new Map<string, { connection: McpConnection; name: string }>();

  return {
    async list() {
      const found = new Map<string, unknown>();
      for (const connection of await Promise.all(connections)) {
        if (!connection) continue;
        for (const tool of await toolsOf(connection)) {
          const own = text(tool['name']) ?? '';
          const name = own.replaceAll('-', '_');
          if (found.has(name)) continue;
          found.set(name, tool['inputSchema'] ?? {});
          owners.set(name, { connection, name: own });
        }
      }
      return found;
    },
    async call(name, args, signal) {
      // A name that nobody lists goes to the first server, which is the session's own and says why.
      const owner = owners.get(name) ?? {
        connection: (await Promise.all(connections)).find((each) => each !== undefined),
        name,
      };
      if (!owner.connection) return { error: `there is no tool ${name}` };
      try {
        return answerOf(await owner.connection.request('tools/call', { name: owner.name, arguments: args }, signal));
      } catch (error) {
        if (signal.aborted) throw error;
        return { error: (error as Error).message };
      }
    },
    async close() {
      for (const connection of await Promise.all(connections)) connection?.close();
    },
  };
}

async function toolsOf(connection: McpConnection): Promise<Record<string, unknown>[]> {
  const tools: Record<string, unknown>[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < maxPages; page++) {
    const answer = await connection.request('tools/list', cursor === undefined ? {} : { cursor }).catch(() => ({}));
    tools.push(...objects((answer as Record<string, unknown>)['tools']));
    cursor = text((answer as Record<string, unknown>)['nextCursor']);
    if (cursor === undefined) break;
  }
  return tools;
}

function answerOf(result: Record<string, unknown>): ToolAnswer {
  const blocks = objects(result['content']);
  const said = blocks.map((block) => (block['type'] === 'text' ? (text(block['text']) ?? '') : '')).join('\n');
  if (result['isError'] === true) return { error: said || 'the tool failed without a word' };
  return { value: blocks.every((block) => block['type'] === 'text') ? parsed(said) : blocks };
}

async function connect(server: Extract<McpServer, { command: string }>): Promise<McpConnection | undefined> {
  const variables = Object.fromEntries(server.env.map(({ name, value }) => [name, value]));
  try {
    return await connectMcp(server.command, server.args, { ...process.env, ...variables });
  } catch (error) {
    process.stderr.write(`MCP server ${server.name} does not start: ${(error as Error).message}\n`);
    return undefined;
  }
}

function parsed(said: string): unknown {
  try {
    return parseExactly(said);
  } catch {
    return said;
  }
}
