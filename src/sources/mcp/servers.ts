import { mkdir } from 'node:fs/promises';
import {
  fail,
  isSlug,
  type BundleProvider,
  type Failure,
  type OfferedBundle,
  type ServerConfig,
  type Source,
  type Tool,
} from '../../schema/index.ts';
import type { ServerState } from './connection.ts';
import { cleanText } from './foreign-text.ts';
import { forgetOthers } from './tool-list.ts';
import { slugOf } from './tool-slugs.ts';
import { Upstream, type UpstreamDeps } from './upstream.ts';

export interface McpServersDeps extends UpstreamDeps {
  /** True when a bundle of this name exists already: the server stays hidden, and its status says so. */
  isShadowed?(slug: string): boolean;
}

/** One server as `ot.health`, `server_list` and `doctor` show it. */
export interface ServerStatus {
  name: string;
  bundle: string;
  status: ServerState;
  transport: 'stdio' | 'http' | 'sse';
  protocol?: string;
  tools: number;
  error?: string;
  warnings: string[];
  /** Tools whose definition changed since it was first seen, with the time. */
  changed_tools: Readonly<Record<string, string>>;
}

/** All upstream MCP servers: a provider of bundles and the source that runs their tools. */
export interface McpServers extends BundleProvider {
  source: Source;
  /** Starts, stops and restarts servers so that they match the configuration; never waits for one of them. */
  apply(servers: Record<string, ServerConfig>): Promise<void>;
  /** Begins to connect. Until then their menus are the remembered ones, so that nothing waits for them. */
  connect(): void;
  /** By bundle slug, for prompts, resources and completion. */
  find(slug: string): Upstream | undefined;
  byName(name: string): Upstream | undefined;
  /** Waits at most `waitMs` for those that are still connecting. */
  status(waitMs?: number): Promise<ServerStatus[]>;
  close(): Promise<void>;
}

/** Opens the room; nothing is connected before `connect`. */
export async function mcpServers(deps: McpServersDeps): Promise<McpServers> {
  await mkdir(deps.folder, { recursive: true, mode: 0o700 });
  const byName = new Map<string, Upstream>();
  const bySlug = new Map<string, Upstream>();
  const listeners = new Set<() => void>();
  const unused: string[] = [];
  let isClosed = false;
  let isConnecting = false;
  const changed = (): void => listeners.forEach((listener) => listener());
  const killAll = (): void => byName.forEach((upstream) => upstream.kill());
  process.once('exit', killAll);

  async function apply(wanted: Record<string, ServerConfig>): Promise<void> {
    if (isClosed) return;
    unused.length = 0;
    const before = new Map<string, Upstream>();
    const stopping: Promise<void>[] = [];
    for (const [name, upstream] of byName) {
      if (wanted[name] && JSON.stringify(wanted[name]) === JSON.stringify(upstream.config)) continue;
      before.set(name, upstream);
      byName.delete(name);
      bySlug.delete(upstream.slug);
      stopping.push(upstream.stop());
    }
    // Until they have stopped, their last list may still be on its way to disk.
    void Promise.allSettled(stopping).then(() => forgetOthers(deps.folder, [...byName.keys()]).catch(() => {}));
    const starting: Promise<void>[] = [];
    for (const [name, config] of Object.entries(wanted)) {
      if (byName.has(name)) continue;
      const slug = slugOf(name);
      if (!isSlug(slug) || bySlug.has(slug)) {
        unused.push(name);
        deps.log.warn(
          { span: 'upstream.name', server: name },
          'the name of this MCP server is not usable or clashes with another one',
        );
        continue;
      }
      const upstream = new Upstream(name, slug, config, deps, before.get(name));
      byName.set(name, upstream);
      bySlug.set(slug, upstream);
      if (!before.has(name))
        upstream.onEvent((event) => (event.kind === 'tools' || event.kind === 'state') && changed());
      // The remembered list is read before this returns, so that the menu is there; the connection is not waited for.
      if (config.enabled !== false) starting.push(start(upstream));
    }
    await Promise.all(starting);
    changed();
  }

  async function start(upstream: Upstream): Promise<void> {
    await upstream.recall();
    if (isConnecting) upstream.connect();
  }

  function connect(): void {
    isConnecting = true;
    for (const upstream of byName.values()) if (upstream.config.enabled !== false) upstream.connect();
  }

  return {
    apply,
    connect,
    find: (slug) => {
      const upstream = bySlug.get(slug) ?? bySlug.get(slug.replaceAll('_', '-'));
      return upstream && !deps.isShadowed?.(upstream.slug) ? upstream : undefined;
    },
    byName: (name) => byName.get(name),
    bundles: () => [...byName.values()].map(asBundle),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async status(waitMs = 0) {
      if (waitMs > 0) await Promise.all([...byName.values()].map((each) => each.settled(waitMs)));
      const known = [...byName.values()].map((each) => statusOf(each, deps.isShadowed?.(each.slug) ?? false));
      return [...known, ...unused.map(unusable)];
    },
    source: mcpSource((slug) => bySlug.get(slug)),
    async close() {
      isClosed = true;
      process.removeListener('exit', killAll);
      await Promise.all([...byName.values()].map((each) => each.stop()));
    },
  };
}

function mcpSource(find: (slug: string) => Upstream | undefined): Source {
  return {
    check(tool: Tool) {
      throw fail('type.unsupported', { type: tool.type });
    },
    level: (tool) => (tool.annotations?.['readOnlyHint'] === true ? 'read' : 'write'),
    run(tool, args, call) {
      const upstream = find(tool.bundleSlug);
      if (!upstream) return Promise.reject(notConfigured(tool.bundleSlug));
      return upstream.call(tool.upstreamName ?? tool.slug, args, call);
    },
  };
}

const notConfigured = (slug: string): Failure =>
  fail('source.unreachable', { what: `MCP server ${slug}`, reason: 'it is not configured any more' });

function asBundle(upstream: Upstream): OfferedBundle {
  const { serverInfo, instructions, state, listedAt } = upstream;
  const about = instructions ?? serverInfo.title ?? '';
  return {
    slug: upstream.slug,
    displayName: cleanText(serverInfo.title ?? upstream.name, 200) || upstream.name,
    ...(about && { description: cleanText(about) }),
    kind: 'server',
    tools: upstream.offered,
    ...(listedAt && { modifiedAt: listedAt }),
    ...(state === 'disabled' && { disabledReason: 'disabled in config.yaml' }),
  };
}

function statusOf(upstream: Upstream, isShadowed: boolean): ServerStatus {
  const { config, warnings } = upstream;
  const shadow = isShadowed ? [`the bundle ${upstream.slug} exists already; it wins over this server`] : [];
  return {
    name: upstream.name,
    bundle: upstream.slug,
    status: upstream.state,
    transport: config.type ?? config.transport ?? (config.command ? 'stdio' : 'http'),
    ...(upstream.era && { protocol: upstream.era }),
    tools: upstream.offered.length,
    ...(upstream.error && upstream.state !== 'connected' && { error: upstream.error }),
    warnings: [...shadow, ...warnings],
    changed_tools: upstream.changed,
  };
}

function unusable(name: string): ServerStatus {
  return {
    name,
    bundle: '',
    status: 'disconnected',
    transport: 'stdio',
    tools: 0,
    error: 'this name is not usable or clashes with another server',
    warnings: [],
    changed_tools: {},
  };
}
