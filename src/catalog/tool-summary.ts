import { compareText, type Tool } from '../schema/index.ts';

/** What stays in memory of every tool; the rest is read when it is asked for. */
export interface ToolSummary {
  id: string;
  slug: string;
  version: string;
  bundleID: string;
  name: string;
  type: Tool['type'];
  isEnabled: boolean;
  tags?: string[];
  createdAt: string;
  modifiedAt: string;
  /** Set for stored tools: where the whole is. */
  file?: { path: string; mtimeMs: number; size: number };
  /** Set for tools that code offers: the whole. */
  whole?: Tool;
}

/** The order of the global list: name, newest first, id. */
export function compareSummaries(a: OrderKey, b: OrderKey): number {
  if (a.name !== b.name) return compareText(a.name, b.name);
  if (a.createdAt !== b.createdAt) return compareText(b.createdAt, a.createdAt);
  if (a.id !== b.id) return compareText(a.id, b.id);
  // Only files that somebody copied share an id.
  return compareText(a.bundleID, b.bundleID);
}

export type OrderKey = Pick<ToolSummary, 'name' | 'createdAt' | 'id' | 'bundleID'>;

/** Summaries kept in list order, so that a page of a large catalog costs no sort. */
export class OrderedSummaries {
  #items: ToolSummary[] = [];

  get size(): number {
    return this.#items.length;
  }

  /** Replaces all at once. */
  fill(items: ToolSummary[]): void {
    this.#items = items.toSorted(compareSummaries);
  }

  /** All after `key` (from the start without one), in order. */
  *after(key?: OrderKey): Generator<ToolSummary> {
    const items = this.#items;
    let at = key ? this.#placeOf(key) : 0;
    const first = items[at];
    if (key && first && compareSummaries(first, key) === 0) at++;
    for (; at < items.length; at++) yield items[at]!;
  }

  #placeOf(key: OrderKey): number {
    let low = 0;
    let high = this.#items.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compareSummaries(this.#items[middle]!, key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
