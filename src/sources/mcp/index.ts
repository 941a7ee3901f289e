// Upstream MCP servers: connect, follow their lists, run their tools. May import: schema, store, config, observe.
export { mcpServers, type McpServers } from './servers.ts';
export { serverTools } from './tools.ts';
export { wayOut } from './way-out.ts';
export { rpcErrorKey } from './foreign-result.ts';
export { RpcError } from './wire.ts';
export type { Upstream, UpstreamEvent } from './upstream.ts';
export type { Definition } from './definitions.ts';
export { headerMismatch, mirroredParams } from './param-headers.ts';
