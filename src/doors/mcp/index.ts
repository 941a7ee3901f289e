// MCP towards clients: both protocol eras on one endpoint, hot path on a thin transport. May import: what doors may.
export { mcpDoor } from './mcp-door.ts';
export { serveStdio } from './stdio.ts';
export { logFeed } from './log-feed.ts';
