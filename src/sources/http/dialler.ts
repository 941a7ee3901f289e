import { lookup as systemLookup, type LookupAddress } from 'node:dns';
import type { Readable } from 'node:stream';
import type { Agent } from 'undici';
import type { Settings } from '../../schema/index.ts';
import { hostRules, type HostRules } from './host-rules.ts';
import { checkUrl, nextHop, parseUrl, redirectTarget, tooManyRedirects } from './hops.ts';
import { webFetch } from './web-fetch.ts';

/** What one request may reach beyond the configuration, and what it carries. */
export interface DialPolicy {
  /** Entries that count as listed for this request alone, such as the host of a configured server. */
  allow?: readonly string[];
  /** Called before every hop with the URL that is about to be dialled; throw to stop. */
  onHop?: (url: URL) => void;
  /** Names of headers that must not follow to another origin, besides Authorization and Cookie. */
  credentialHeaders?: readonly string[];
  /** True when the body carries a credential: a redirect that would send it to another origin is refused. */
  hasSecretBody?: boolean;
  /** Five unless told otherwise. */
  maxRedirects?: number;
}

export interface DialInit {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array | null;
  signal?: AbortSignal;
}

/** The last hop's answer. `body` must be read or destroyed. */
export interface DialAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  url: URL;
  /** An answer to HEAD announces a body that never comes. */
  isHead: boolean;
  body: Readable;
}

/** The only way out: every outgoing HTTP request of the program is checked and dialled here. */
export interface Dialler {
  /** Follows redirects between allowed hosts; throws host.not_allowed, or the network's own error. */
  fetch(url: string | URL, init?: DialInit, policy?: DialPolicy): Promise<DialAnswer>;
  /** The same rules behind the standard `fetch` shape, for libraries that ask for one. Streams both ways. */
  webFetch(policy?: DialPolicy): typeof globalThis.fetch;
  /** Throws host.not_allowed (or request.invalid for a URL that is none) without dialling. */
  check(url: string | URL, policy?: DialPolicy): void;
  close(): Promise<void>;
}

/** Resolves a name as `dns.lookup` does with `all: true`. */
export type Resolve = (host: string, callback: (error: Error | null, addresses: LookupAddress[]) => void) => void;

interface Route {
  rules: HostRules;
  /** Made with the first request, as is undici itself loaded: most servers never dial out. */
  agent: () => Promise<Agent>;
  /** Undefined while nothing was dialled. */
  opened: () => Promise<Agent> | undefined;
}

const mostRoutes = 64;

/** Opens the dialler. `settings` is asked anew for every request, so that a changed list counts at once. */
export function dialler(options: { settings: () => Pick<Settings, 'allowedHosts'>; resolve?: Resolve }): Dialler {
  const resolve = options.resolve ?? ((host, callback) => systemLookup(host, { all: true }, callback));
  // Pooled connections were checked when they were made: each set of rules has a pool of its own.
  const routes = new Map<string, Route>();
  let plain: { entries: readonly string[]; route: Route } | undefined;

  function routeFor(policy: DialPolicy | undefined): Route {
    const { allowedHosts } = options.settings();
    const extra = policy?.allow;
    if (!extra?.length && plain && plain.entries === allowedHosts) return plain.route;
    const entries = extra?.length ? [...allowedHosts, ...extra] : allowedHosts;
    const key = JSON.stringify(entries);
    let route = routes.get(key);
    if (route) routes.delete(key);
    else route = openRoute(entries, resolve);
    routes.set(key, route);
    if (routes.size > mostRoutes) dropOldest(routes);
    if (!extra?.length) plain = { entries: allowedHosts, route };
    return route;
  }

  async function dial(url: string | URL, init: DialInit = {}, policy?: DialPolicy): Promise<DialAnswer> {
    let hop = {
      url: parseUrl(url),
      method: init.method ?? 'GET',
      headers: init.headers ?? {},
      body: init.body ?? null,
    };
    for (let followed = 0; ; followed++) {
      const { rules, agent } = routeFor(policy);
      checkUrl(hop.url, rules);
      policy?.onHop?.(hop.url);
      const answer = await (
        await agent()
      ).request({
        origin: hop.url.origin,
        path: hop.url.pathname + hop.url.search,
        method: hop.method as 'GET',
        headers: hop.headers,
        body: hop.body,
        signal: init.signal,
      });
      const location = redirectTarget(answer.statusCode, answer.headers['location'], hop.url);
      if (!location)
        return {
          status: answer.statusCode,
          headers: answer.headers,
          url: hop.url,
          isHead: hop.method === 'HEAD',
          body: answer.body,
        };
      answer.body.on('error', () => {}).destroy();
      if (followed >= (policy?.maxRedirects ?? 5)) throw tooManyRedirects(hop.url, followed);
      hop = nextHop(hop, location, answer.statusCode, policy);
    }
  }

  return {
    fetch: dial,
    webFetch: (policy) => webFetch(routeFor, policy),
    check: (url, policy) => checkUrl(parseUrl(url), routeFor(policy).rules),
    async close() {
      const all = [...routes.values()];
      routes.clear();
      plain = undefined;
      await Promise.all(all.map(async (route) => (await route.opened())?.destroy()));
    },
  };
}

function openRoute(entries: readonly string[], resolve: Resolve): Route {
  const rules = hostRules(entries);
  let agent: Promise<Agent> | undefined;
  const open = async (): Promise<Agent> => (await import('./agent.ts')).openAgent(rules, resolve);
  return { rules, agent: () => (agent ??= open()), opened: () => agent };
}

function dropOldest(routes: Map<string, Route>): void {
  const [key] = routes.keys();
  const route = key === undefined ? undefined : routes.get(key);
  if (key === undefined || !route) return;
  routes.delete(key);
  // Requests under way finish; the pool closes behind them.
  void route
    .opened()
    ?.then((agent) => agent.close())
    .catch(() => {});
}
