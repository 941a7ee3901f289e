// MCP towards clients: both protocol eras on one endpoint, hot path on a thin transport. May import: what doors may.
export { mcpDoor, type McpDoorDeps } from './mcp-door.ts';
export type { SessionFeed } from './session-feed.ts';
export { serveStdio, type StdioOptions } from './stdio.ts';
export { logFeed, type LogFeedDeps } from './log-feed.ts';
