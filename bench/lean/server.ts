// As little MCP as possible: one tool, `echo`, over stdio, or with a port as argument over bare HTTP.
import { readSync, writeSync } from 'node:fs';
import { createServer } from 'node:http';

const tools = [
  {
    name: 'echo',
    description: 'Says it again',
    inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
    annotations: { readOnlyHint: true },
  },
];

export function answer({ id, method, params }: { id?: unknown; method?: string; params?: any }): object | undefined {
  if (id === undefined) return undefined;
  if (method === 'initialize')
    return {
      jsonrpc: '2.0',
      id,
      result: {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'lean', version: '1' },
      },
    };
  if (method === 'tools/list') return { jsonrpc: '2.0', id, result: { tools } };
  if (method === 'tools/call')
    return { jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: params.arguments.text }] } };
  if (method === 'ping') return { jsonrpc: '2.0', id, result: {} };
  return { jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } };
}

const port = process.argv[2];
if (port) {
  createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      const text = JSON.stringify(answer(JSON.parse(body)));
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
      response.end(text);
    });
  }).listen(Number(port), '127.0.0.1', () => console.log('ready'));
} else {
  // Nothing else is done here: to wait in a read is the least that a process can do.
  const piece = Buffer.allocUnsafe(64 * 1024);
  let rest = '';
  for (let count; (count = readSync(0, piece)) > 0;) {
    const lines = (rest + piece.toString('utf8', 0, count)).split('\n');
    rest = lines.pop() ?? '';
    let out = '';
    for (const line of lines) {
      const said = line && answer(JSON.parse(line));
      if (said) out += `${JSON.stringify(said)}\n`;
    }
    if (out) writeSync(1, out);
  }
}
