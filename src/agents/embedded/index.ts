// The embedded agent: an ACP agent that needs no model, for each message is a program over its MCP tools. May import: schema.
export { serveEmbeddedAgent } from './embedded.ts';
export type { ProgramPort } from './program-port.ts';
