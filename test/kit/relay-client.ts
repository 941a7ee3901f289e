import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { clientFile } from './programs.ts';

export interface RelayClient {
  client: Client;
  stderr: () => string;
}

/** An MCP client on a real `oubliette-client` that speaks to this socket. */
export async function relayClient(
  socket: string,
  apiKey?: string,
  era: 'auto' | 'legacy' = 'auto',
  onChange = () => {},
): Promise<RelayClient> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [clientFile, '--socket', socket],
    env: { PATH: process.env['PATH']!, ...(apiKey !== undefined && { OUBLIETTE_API_KEY: apiKey }) },
    stderr: 'pipe',
  });
  let stderr = '';
  transport.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const client = new Client(
    { name: 'test', version: '1' },
    {
      ...(era === 'auto' ? { versionNegotiation: { mode: 'auto' as const } } : {}),
      listChanged: { tools: { onChanged: onChange } },
    },
  );
  await client.connect(transport);
  return { client, stderr: () => stderr };
}

export const toolNames = async ({ client }: RelayClient): Promise<string[]> =>
  (await client.listTools()).tools.map((tool) => tool.name).toSorted();

export const textOf = (result: any): string => result.content[0].text;
