// An MCP server over stdio with the schemas that the `ot` pack must show well.
import { createInterface } from 'node:readline';

const tools = [
  {
    name: 'search',
    description: 'Search repositories',
    inputSchema: {
      type: 'object',
      properties: {
        repo: { type: 'string', description: 'Only in this repository' },
        query: { type: 'string', description: 'What to look for' },
        limit: { type: 'integer', default: 10 },
        sort: { type: ['string', 'null'], default: null },
        tags: { type: 'array', default: [] },
        filter: { type: 'object' },
        exact: { type: 'boolean', default: false },
        weight: { type: 'number' },
        either: { anyOf: [{ type: 'string' }, { type: 'integer' }] },
        odd: {},
      },
      required: ['query'],
    },
    annotations: { readOnlyHint: true },
  },
  { name: 'list-files', description: 'List files', inputSchema: { type: 'object', properties: {} } },
];

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line) as { id?: number; method: string; params?: Record<string, any> };
  const answer = (result: object): void =>
    void process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
  if (method === 'initialize')
    answer({
      protocolVersion: params?.['protocolVersion'] ?? '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'search', version: '1' },
    });
  else if (method === 'tools/list') answer({ tools });
  else if (method === 'tools/call')
    answer({
      content: [{ type: 'text', text: JSON.stringify({ called: params?.['name'], with: params?.['arguments'] }) }],
    });
  else if (id !== undefined)
    process.stdout.write(
      `${JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no such method' } })}\n`,
    );
}
