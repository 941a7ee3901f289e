import type { Gate } from '../../gate/index.ts';
import { fail, packName, reachesBundle, type Actor, type ToolView } from '../../schema/index.ts';
import { RpcError, type McpServers, type Upstream } from '../../sources/mcp/index.ts';
import type { Era, JsonObject } from './exchange.ts';
import { ownShape, upstreamShape } from './tool-shape.ts';

/** Which part of the catalog an endpoint shows. */
export type Menu = { kind: 'run' } | { kind: 'own' } | { kind: 'bundle'; slug: string };

export const menuKey = (menu: Menu): string => (menu.kind === 'bundle' ? `b/${menu.slug}` : menu.kind);

/** The menu that an address shows. */
export function menuAt(path: string): Menu {
  if (path === '/mcp') return { kind: 'own' };
  return path === '/mcp/run' ? { kind: 'run' } : { kind: 'bundle', slug: path.slice('/mcp/b/'.length) };
}

export const isSameMenu = (a: Menu, b: Menu): boolean => a === b || menuKey(a) === menuKey(b);

/** A tool as this menu calls it. */
export interface Listed {
  name: string;
  view: ToolView;
  isOwn: boolean;
  shape(era: Era): JsonObject;
}

export interface MenusDeps {
  gate: Gate;
  servers: Pick<McpServers, 'find'>;
  /** Bundles of the server's own tools (project_*, session_*, ...). */
  ownBundles: ReadonlySet<string>;
}

interface Kept {
  listing: Promise<Map<string, Listed>>;
  /** Once they are there. */
  tools?: Map<string, Listed>;
}

const pageSize = 250;
const mostKept = 200;

/** Lists and resolves tools per menu and actor; kept until the catalog says that something changed. */
export class Menus {
  readonly #deps: MenusDeps;
  readonly #kept = new Map<string, Kept>();

  constructor(deps: MenusDeps) {
    this.#deps = deps;
    deps.gate.onMenuChange(() => this.#kept.clear());
  }

  upstream(menu: Menu): Upstream | undefined {
    return menu.kind === 'bundle' ? this.#deps.servers.find(menu.slug) : undefined;
  }

  /** Throws bundle.not_found for a bundle that the actor cannot see. */
  async demand(actor: Actor, menu: Menu): Promise<void> {
    if (menu.kind !== 'bundle' || this.isReached(actor, menu)) return;
    // `ot_result` is on every menu and proves nothing.
    if (reachesBundle(actor, menu.slug))
      for (const { view } of (await this.tools(actor, menu)).values()) if (view.bundleSlug === menu.slug) return;
    throw fail('bundle.not_found', { ref: menu.slug });
  }

  /** True when it takes no closer look to know that the actor may see this menu. */
  isReached(actor: Actor, menu: Menu): boolean {
    if (menu.kind !== 'bundle') return true;
    const upstream = this.upstream(menu);
    return upstream !== undefined && reachesBundle(actor, upstream.slug);
  }

  /** All tools of the menu by the name they have there. */
  tools(actor: Actor, menu: Menu): Promise<Map<string, Listed>> {
    const key = keyOf(actor, menu);
    let kept = this.#kept.get(key);
    if (!kept) {
      const mine: Kept = { listing: this.#list(actor, menu) };
      kept = mine;
      if (this.#kept.size >= mostKept) this.#kept.clear();
      this.#kept.set(key, mine);
      mine.listing.then(
        (tools) => (mine.tools = tools),
        () => this.#kept.delete(key),
      );
    }
    return kept.listing;
  }

  /** The same without waiting; undefined when they must be listed first. */
  known(actor: Actor, menu: Menu): Map<string, Listed> | undefined {
    return this.#kept.get(keyOf(actor, menu))?.tools;
  }

  /** One page of `tools/list`. A cursor is the last name of the page before, so that changes in between do no harm. */
  async page(
    actor: Actor,
    menu: Menu,
    era: Era,
    cursor: unknown,
  ): Promise<{ tools: JsonObject[]; nextCursor?: string }> {
    const tools = await this.tools(actor, menu);
    const after = cursor === undefined ? undefined : decodeCursor(cursor);
    const all = [...tools.values()];
    if (after === undefined && all.length <= pageSize) return { tools: all.map((each) => each.shape(era)) };
    all.sort((a, b) => (a.name < b.name ? -1 : 1));
    const rest = after === undefined ? all : all.filter((each) => each.name > after);
    const page = rest.slice(0, pageSize);
    const last = page.at(-1);
    return {
      tools: page.map((each) => each.shape(era)),
      ...(last && rest.length > page.length && { nextCursor: encodeCursor(last.name) }),
    };
  }

  async #list(actor: Actor, menu: Menu): Promise<Map<string, Listed>> {
    if (menu.kind === 'run') return this.#named(await this.#single(actor, 'run'));
    if (menu.kind === 'own') {
      // Bundle by bundle: a catalog of a hundred thousand tools is not looked through for these.
      const own = [...this.#deps.ownBundles].map((bundleSlug) => this.#deps.gate.list(actor, { bundleSlug }));
      const views = (await Promise.all(own)).flat().filter((view) => view.name !== 'run');
      return this.#named([...(await this.#single(actor, 'run')), ...views]);
    }
    const upstream = this.upstream(menu);
    const slug = upstream?.slug ?? menu.slug;
    const views = await this.#deps.gate.list(actor, { bundleSlug: slug });
    const tools = new Map<string, Listed>();
    for (const view of views) {
      const name = view.upstreamName ?? view.slug;
      const definition =
        upstream && view.upstreamName !== undefined ? upstream.definition(view.upstreamName) : undefined;
      const shape = definition ? upstreamShape(definition) : ownShape(view, name, false);
      tools.set(name, { name, view, isOwn: false, shape });
    }
    for (const view of await this.#single(actor, 'ot_result')) if (!tools.has(view.name)) this.#add(tools, view);
    return tools;
  }

  async #single(actor: Actor, name: string): Promise<ToolView[]> {
    try {
      const view = await this.#deps.gate.resolve(actor, name);
      return view.isEnabled ? [view] : [];
    } catch {
      return [];
    }
  }

  #named(views: ToolView[]): Map<string, Listed> {
    const tools = new Map<string, Listed>();
    for (const view of views) this.#add(tools, view);
    return tools;
  }

  #add(tools: Map<string, Listed>, view: ToolView): void {
    const isOwn = view.name !== 'run' && this.#deps.ownBundles.has(view.bundleSlug);
    tools.set(view.name, { name: view.name, view, isOwn, shape: ownShape(view, view.name, isOwn) });
  }
}

function keyOf(actor: Actor, menu: Menu): string {
  return `${menuKey(menu)} ${actor.level} ${actor.isGranted ?? ''} ${actor.sessionId ?? ''} ${actor.bundles?.join(',') ?? '*'}`;
}

/** How a program would call this tool. */
export const callName = (view: ToolView): string => `${packName(view.bundleSlug)}.${view.slug.replaceAll('-', '_')}`;

const encodeCursor = (name: string): string => Buffer.from(JSON.stringify([name])).toString('base64url');

function decodeCursor(cursor: unknown): string {
  try {
    const [name] = JSON.parse(Buffer.from(String(cursor), 'base64url').toString()) as unknown[];
    if (typeof name === 'string') return name;
  } catch {
    // Falls through to the error below.
  }
  throw new RpcError(-32602, 'Invalid cursor: start again without one');
}
