/** What a running server says about itself in `server.json`. */
export interface ServerInfo {
  pid: number;
  port: number;
  url: string;
  mcpUrl: string;
  version: string;
  startedAt: string;
}
