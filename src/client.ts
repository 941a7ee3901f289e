// oubliette-client, the program inside the sandbox: gives an agent the session's tools as an MCP server on stdio.
import { parseArgs } from 'node:util';
import { runClient } from './client/run.ts';

const { values } = parseArgs({ options: { socket: { type: 'string', default: '/mcp/relay.sock' } }, strict: false });

await runClient({
  socket: String(values.socket),
  apiKey: process.env['OUBLIETTE_API_KEY'] || undefined,
  version: '1',
  warn: (message) => process.stderr.write(`oubliette-client: ${message}\n`),
});
process.exit(0);
