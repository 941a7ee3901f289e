import { reachesBundle } from '../auth/index.ts';
import type { Catalog, ToolSummary } from '../catalog/index.ts';
import type { Observer } from '../observe/index.ts';
import {
  higher,
  uncheckedPatterns,
  type Actor,
  type Bundle,
  type Level,
  type Source,
  type Tool,
  type ToolView,
} from '../schema/index.ts';
import type { Sources } from './gate.ts';

/** A tool as seen through the gate, with all that decides whether it can be called. */
export interface Seen {
  view: ToolView;
  bundle: Bundle;
  source: Source | undefined;
  /** One of the server's own tools: its refusals travel with their own HTTP status. */
  isOwn: boolean;
}

/** Code mode itself is always in reach: it can do nothing but call what its actor may call. */
export const runName = 'run';

/** Puts together what files, offers, sources and records know of a tool. */
export class ToolViews {
  readonly #catalog: Catalog;
  readonly #sources: Sources;
  readonly #observe: Observer;
  readonly #known = new WeakMap<Tool, Seen>();

  constructor(catalog: Catalog, sources: Sources, observe: Observer) {
    this.#catalog = catalog;
    this.#sources = sources;
    this.#observe = observe;
  }

  /** Undefined when the bundle is gone or the file broke in the meantime. The same object until something changes. */
  async see(summary: ToolSummary): Promise<Seen | undefined> {
    const tool = await this.#catalog.whole(summary);
    return tool && this.#put(summary, tool);
  }

  /** The same without waiting, for tools that are in memory: nearly all that are called. */
  seeKept(summary: ToolSummary): Seen | undefined {
    const tool = this.#catalog.kept(summary);
    return tool && this.#put(summary, tool);
  }

  #put(summary: ToolSummary, tool: Tool): Seen | undefined {
    const bundle = this.#catalog.bundle(summary.bundleID);
    if (!bundle) return undefined;
    const source = this.#sourceOf(tool);
    const reason = this.#reasonFor(summary, tool, source);
    const level = this.#levelOf(tool, source);
    const known = this.#known.get(tool);
    if (known && known.bundle === bundle && known.view.level === level && known.view.disabledReason === reason)
      return known;
    const seen: Seen = {
      view: this.#view(tool, bundle.slug, level, reason),
      bundle,
      source,
      isOwn: this.#catalog.offer(bundle.id)?.offer.isOwn ?? false,
    };
    this.#known.set(tool, seen);
    return seen;
  }

  #view(tool: Tool, bundleSlug: string, level: Level, reason: string | undefined): ToolView {
    const observe = this.#observe;
    const unchecked = [...uncheckedPatterns(tool.argSchema), ...uncheckedPatterns(tool.outputSchema)];
    return {
      ...tool,
      isEnabled: tool.isEnabled && reason === undefined,
      bundleSlug,
      level,
      ...(reason !== undefined && { disabledReason: reason }),
      ...(unchecked.length > 0 && { uncheckedPatterns: unchecked }),
      // Most calls never look at it.
      get usage() {
        return usageOf(observe, tool.id);
      },
    };
  }

  #sourceOf(tool: Tool): Source | undefined {
    return this.#sources[tool.type === 'go' ? 'function' : tool.type];
  }

  #reasonFor(summary: ToolSummary, tool: Tool, source: Source | undefined): string | undefined {
    if (!source) return `tools of type ${tool.type} cannot run here`;
    return this.#catalog.offerReason(summary.id) ?? source.disabledReason?.(tool);
  }

  #levelOf(tool: Tool, source: Source | undefined): Level {
    const offered = this.#catalog.offerLevel(tool.id);
    if (offered) return offered;
    const own = source?.level(tool) ?? 'write';
    return tool.access ? higher(own, tool.access) : own;
  }
}

/** True when the actor may know that this tool exists. */
export function isInReach(actor: Actor, bundle: Bundle, name: string): boolean {
  return reachesBundle(actor, bundle.slug) || name === runName;
}

function usageOf(observe: Observer, toolId: string): ToolView['usage'] {
  const { callCount, failureCount, lastCalledAt, p50Ms } = observe.usage(toolId);
  return {
    callCount,
    failureCount,
    ...(lastCalledAt !== undefined && { lastCalledAt }),
    ...(p50Ms !== undefined && { p50Ms }),
  };
}
