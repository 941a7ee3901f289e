import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Tool } from '../schema/index.ts';
import type { CatalogCache } from './catalog-cache.ts';
import { parseTool } from './stored-files.ts';
import { wholeOf } from './stored-records.ts';
import type { ToolSummary } from './tool-summary.ts';

const keptTools = 4096;

/** Whole tools behind their summaries: those used lately are in memory, the others in the cache or in their files. */
export class WholeTools {
  readonly #folder: string;
  readonly #cache: CatalogCache;
  readonly #kept = new Map<string, Tool>();

  constructor(folder: string, cache: CatalogCache) {
    this.#folder = folder;
    this.#cache = cache;
  }

  /** Undefined when it is not in memory. */
  kept(summary: ToolSummary): Tool | undefined {
    if (!summary.file) return summary.whole;
    const kept = this.#kept.get(summary.id);
    // A bundle that somebody copied shares its tools' ids with the first.
    return kept?.isEnabled === summary.isEnabled && kept.bundleID === summary.bundleID ? kept : undefined;
  }

  /** Undefined when its file vanished or broke since. Whoever reads all of them keeps none. */
  async read(summary: ToolSummary, isKept: boolean): Promise<Tool | undefined> {
    const kept = this.kept(summary);
    const file = summary.file;
    if (kept || !file) return kept;
    const text =
      this.#cache.text(file.path, file.mtimeMs, file.size) ??
      (await readFile(join(this.#folder, file.path), 'utf8').catch(() => undefined));
    if (text === undefined) return undefined;
    try {
      const tool = wholeOf(parseTool(text, file.path, summary.bundleID));
      return isKept ? this.keep(tool) : tool;
    } catch {
      return undefined;
    }
  }

  keep(tool: Tool): Tool {
    this.#kept.delete(tool.id);
    this.#kept.set(tool.id, tool);
    if (this.#kept.size > keptTools) this.#kept.delete(this.#kept.keys().next().value!);
    return tool;
  }

  forget(id: string): void {
    this.#kept.delete(id);
  }
}
