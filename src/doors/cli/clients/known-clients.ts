import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where things lie for the person at this machine. */
export interface Place {
  home: string;
  platform: NodeJS.Platform;
  env: NodeJS.ProcessEnv;
}

/** What a client needs to know to reach us. */
export interface Target {
  url: string;
  token: string;
  /** For clients that can only start a program. */
  program: { command: string; args: string[] };
}

export interface KnownClient {
  name: string;
  format: 'json' | 'toml';
  file(place: Place): string;
  /** Where its MCP servers lie in that file; newer versions of a client may keep them elsewhere. */
  serversAt(document: unknown): string[];
  entry(target: Target): Record<string, unknown>;
}

export const placeOf = (env: NodeJS.ProcessEnv): Place => ({
  home: env['HOME'] || env['USERPROFILE'] || homedir(),
  platform: process.platform,
  env,
});

const bearer = ({ token }: Target): Record<string, string> => ({ Authorization: `Bearer ${token}` });
const http = (target: Target) => ({ type: 'http', url: target.url, headers: bearer(target) });
const at =
  (...path: string[]) =>
  (): string[] =>
    path;
const inHome =
  (...parts: string[]) =>
  (place: Place): string =>
    join(place.home, ...parts);

/** The folder in which desktop programs keep their settings. */
function settings({ platform, env, home }: Place, ...parts: string[]): string {
  if (platform === 'darwin') return join(home, 'Library', 'Application Support', ...parts);
  if (platform === 'win32') return join(env['APPDATA'] || join(home, 'AppData', 'Roaming'), ...parts);
  return join(env['XDG_CONFIG_HOME'] || join(home, '.config'), ...parts);
}

const dotConfig = ({ env, home }: Place, ...parts: string[]): string =>
  join(env['XDG_CONFIG_HOME'] || join(home, '.config'), ...parts);

export const knownClients: KnownClient[] = [
  { name: 'claude-code', format: 'json', file: inHome('.claude.json'), serversAt: at('mcpServers'), entry: http },
  {
    name: 'claude-desktop',
    format: 'json',
    file: (place) => settings(place, 'Claude', 'claude_desktop_config.json'),
    serversAt: at('mcpServers'),
    entry: ({ program, token }) => ({ ...program, env: { OUBLIETTE_API_KEY: token } }),
  },
  {
    name: 'cursor',
    format: 'json',
    file: inHome('.cursor', 'mcp.json'),
    serversAt: at('mcpServers'),
    entry: (target) => ({ url: target.url, headers: bearer(target) }),
  },
  {
    name: 'vscode',
    format: 'json',
    file: (place) => settings(place, 'Code', 'User', 'mcp.json'),
    serversAt: at('servers'),
    entry: http,
  },
  {
    name: 'codex',
    format: 'toml',
    file: ({ env, home }) => join(env['CODEX_HOME'] || join(home, '.codex'), 'config.toml'),
    serversAt: at('mcp_servers'),
    entry: (target) => ({ url: target.url, http_headers: bearer(target) }),
  },
  {
    name: 'gemini',
    format: 'json',
    file: inHome('.gemini', 'settings.json'),
    serversAt: at('mcpServers'),
    entry: (target) => ({ httpUrl: target.url, headers: bearer(target) }),
  },
  {
    name: 'opencode',
    format: 'json',
    file: (place) => dotConfig(place, 'opencode', 'opencode.json'),
    // Version 2 moved the servers one level down.
    serversAt: (document) => (isV2(document) ? ['mcp', 'servers'] : ['mcp']),
    entry: (target) => ({ type: 'remote', url: target.url, headers: bearer(target) }),
  },
  { name: 'droid', format: 'json', file: inHome('.factory', 'mcp.json'), serversAt: at('mcpServers'), entry: http },
  {
    name: 'zed',
    format: 'json',
    file: (place) =>
      place.platform === 'win32' ? settings(place, 'Zed', 'settings.json') : dotConfig(place, 'zed', 'settings.json'),
    serversAt: at('context_servers'),
    entry: (target) => ({ url: target.url, headers: bearer(target) }),
  },
];

function isV2(document: unknown): boolean {
  const mcp = (document as { mcp?: { servers?: unknown } } | undefined)?.mcp;
  return typeof mcp?.servers === 'object' && mcp.servers !== null && !('type' in mcp.servers);
}
