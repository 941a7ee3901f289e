import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Actor, Call, ServerConfig, ToolView } from '../../src/schema/index.ts';
import { openLink, type Link } from '../../src/sources/mcp/link.ts';
import { mcpServers, type McpServers, type McpServersDeps } from '../../src/sources/mcp/servers.ts';

const script = new URL('raw-server.ts', import.meta.url).pathname;
/** The raw server with these behaviours. */
export const raw = (...wants: string[]) => ({ command: process.execPath, args: [script, ...wants], timeoutMs: 30_000 });
const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const opened: { servers: McpServers; folder: string }[] = [];
/** Closes what the tests opened. */
export async function closeServers(): Promise<void> {
  const all = opened.splice(0);
  await Promise.all(all.map(({ servers }) => servers.close()));
  for (const { folder } of all) await rm(folder, { recursive: true, force: true });
}

/** One connection without all that keeps it up. */
export function openAlone(config: ServerConfig, connectMs: number): Promise<Link> {
  const hooks = { onNotification() {}, onRequest: async () => ({}) };
  const { signal } = new AbortController();
  const deps = {
    version: '0',
    home: '/nowhere',
    fetchFor: () => fetch,
    onNoise() {},
    onTrouble() {},
    onWait() {},
    signal,
  };
  return openLink(config, hooks, deps, connectMs);
}

/** Opens the upstream servers of a configuration in a home of their own. */
export async function openServers(config: Parameters<McpServers['apply']>[0], more: Partial<McpServersDeps> = {}) {
  const home = more.home ?? (await mkdtemp(join(tmpdir(), 'oub-mcp-')));
  const servers = await mcpServers({
    version: '0',
    home,
    folder: join(home, 'run'),
    log: quiet,
    fillIn: (text) => text,
    fetchFor: () => fetch,
    accessToken: async () => 'none',
    redact: (value) => value,
    ...more,
  });
  opened.push({ servers, folder: home });
  await servers.apply(config);
  servers.connect();
  return { servers, home };
}

const actor = (principal: string): Actor => ({ kind: 'token', door: 'mcp', principal, level: 'admin' });
/** A call as the gate would hand it in. */
export function callAs(principal: string, more: Partial<Call> = {}): Call {
  return {
    actor: actor(principal),
    signal: new AbortController().signal,
    progress() {},
    askClient: async () => Promise.reject(new Error('no client')),
    ...more,
  } as Call;
}

export async function connected(servers: McpServers): Promise<void> {
  for (let i = 0; i < 1000; i++) {
    const status = await servers.status(5000);
    if (status.every((each) => each.status === 'connected' && each.tools > 0)) return;
    await sleep(25);
  }
  assert.fail(JSON.stringify(await servers.status()));
}

export function view(servers: McpServers, bundle: string, upstreamName: string): ToolView {
  const tool = servers
    .bundles()
    .find((each) => each.slug === bundle)
    ?.tools.find((each) => each.upstreamName === upstreamName);
  assert.ok(tool, `${upstreamName} is listed`);
  return { ...tool, bundleSlug: bundle } as unknown as ToolView;
}

export const run = (
  servers: McpServers,
  bundle: string,
  tool: string,
  args: Record<string, unknown> = {},
  call = callAs('me'),
) => servers.source.run(view(servers, bundle, tool), args, call);
