import { dirname } from 'node:path';
import type { Tool } from '../schema/index.ts';
import { bundlePath, kindOf, parseBundle, parseTool, toolPath, type BundleFile, type ToolFile } from './stored-files.ts';
import { OneOrMore } from './one-or-more.ts';
import { shared } from './shared-texts.ts';
import { OrderedSummaries, type ToolSummary } from './tool-summary.ts';

export interface FileStamp {
  mtimeMs: number;
  size: number;
}

export type Change =
  | { kind: 'tool'; summary: ToolSummary; whole?: ToolFile }
  | { kind: 'tool-gone'; summary: ToolSummary }
  | { kind: 'bundle'; id: string };

/** What the catalog's files say, in memory. Knows nothing of the disk: others bring the texts. */
export class StoredRecords {
  readonly bundles = new Map<string, BundleFile>();
  readonly ordered = new OrderedSummaries();
  /** Files that cannot be read, by path, with the reason. */
  readonly corrupt = new Map<string, string>();
  readonly #byPath = new Map<string, ToolSummary>();
  readonly #byId = new Map<string, ToolSummary>();
  readonly #byName = new OneOrMore<ToolSummary>();
  /** All versions by bundle and slug, and how many a bundle has in all. */
  readonly #ofBundle = new Map<string, { bySlug: OneOrMore<ToolSummary>; count: number }>();
  readonly #bundleStamps = new Map<string, FileStamp>();

  /** Takes in a file's text; what is damaged is noted and hides nothing else. */
  take(path: string, text: string, stamp: FileStamp, inBulk = false): Change | undefined {
    const of = kindOf(path);
    if (!of) return undefined;
    this.corrupt.delete(path);
    try {
      if (of.kind === 'bundle') {
        this.bundles.set(of.bundleID, parseBundle(text, of.bundleID));
        this.#bundleStamps.set(path, stamp);
        return { kind: 'bundle', id: of.bundleID };
      }
      const whole = parseTool(text, path, of.bundleID);
      const summary = summarise(whole, path, stamp);
      this.takeSummary(summary, inBulk);
      return { kind: 'tool', summary, whole };
    } catch (error) {
      const gone = this.forget(path);
      this.corrupt.set(path, error instanceof Error ? error.message : String(error));
      return gone;
    }
  }

  /** Takes in a tool whose file was made from what is given. */
  takeNew(path: string, whole: ToolFile, stamp: FileStamp): Change {
    this.corrupt.delete(path);
    const summary = summarise(whole, path, stamp);
    this.takeSummary(summary);
    return { kind: 'tool', summary, whole };
  }

  /** Takes in what a cache remembered of a tool file. With `inBulk` the order is made later by `settle`. */
  takeSummary(summary: ToolSummary, inBulk = false): void {
    const path = summary.file!.path;
    const old = this.#byPath.get(path);
    if (old) this.#drop(old, inBulk);
    this.#byPath.set(path, summary);
    this.#byId.set(summary.id, summary);
    this.#byName.add(summary.name, summary);
    const bundle = this.#ofBundle.get(summary.bundleID) ?? { bySlug: new OneOrMore(), count: 0 };
    bundle.bySlug.add(summary.slug, summary);
    bundle.count++;
    this.#ofBundle.set(summary.bundleID, bundle);
    if (!inBulk) this.ordered.add(summary);
  }

  settle(): void {
    this.ordered.fill([...this.#byPath.values()]);
  }

  /** The file is gone. */
  forget(path: string): Change | undefined {
    this.corrupt.delete(path);
    const summary = this.#byPath.get(path);
    if (summary) {
      this.#byPath.delete(path);
      this.#drop(summary, false);
      return { kind: 'tool-gone', summary };
    }
    const of = kindOf(path);
    if (of?.kind !== 'bundle') return undefined;
    this.#bundleStamps.delete(path);
    return this.bundles.delete(of.bundleID) ? { kind: 'bundle', id: of.bundleID } : undefined;
  }

  stampOf(path: string): FileStamp | undefined {
    return this.#byPath.get(path)?.file ?? this.#bundleStamps.get(path);
  }

  /** Paths known below one bundle's folder, damaged ones included. */
  pathsOf(bundleID: string): string[] {
    const paths = Array.from(this.ofBundle(bundleID), (summary) => summary.file!.path);
    const own = bundlePath(bundleID);
    if (this.#bundleStamps.has(own)) paths.push(own);
    for (const path of this.corrupt.keys()) if (path.startsWith(`${bundleID}/`)) paths.push(path);
    return paths;
  }

  /** Folders of which anything is known. */
  bundleFolders(): Set<string> {
    const folders = new Set([...this.bundles.keys(), ...this.#ofBundle.keys()]);
    for (const path of this.corrupt.keys()) folders.add(dirname(path));
    return folders;
  }

  byKey(bundleID: string, slug: string, version: string): ToolSummary | undefined {
    return this.#byPath.get(toolPath(bundleID, slug, version));
  }

  byId(id: string): ToolSummary | undefined {
    return this.#byId.get(id);
  }

  byName(name: string): readonly ToolSummary[] {
    return this.#byName.of(name);
  }

  /** The name that other versions of a slug carry. */
  nameOf(bundleID: string, slug: string): string | undefined {
    return this.#ofBundle.get(bundleID)?.bySlug.of(slug).at(-1)?.name;
  }

  /** All versions of all tools of one bundle, in no order. */
  ofBundle(bundleID: string): Iterable<ToolSummary> {
    return this.#ofBundle.get(bundleID)?.bySlug.values() ?? [];
  }

  countOf(bundleID: string): number {
    return this.#ofBundle.get(bundleID)?.count ?? 0;
  }

  /** Tool files in a bundle's folder, damaged ones included. */
  filesIn(bundleID: string): number {
    const damaged = [...this.corrupt.keys()].filter((path) => path.startsWith(`${bundleID}/`));
    return this.countOf(bundleID) + damaged.length;
  }

  get toolCount(): number {
    return this.#byPath.size;
  }

  #drop(summary: ToolSummary, inBulk: boolean): void {
    this.#byId.delete(summary.id);
    this.#byName.remove(summary.name, summary);
    const bundle = this.#ofBundle.get(summary.bundleID);
    if (bundle) {
      bundle.bySlug.remove(summary.slug, summary);
      if (--bundle.count === 0) this.#ofBundle.delete(summary.bundleID);
    }
    if (!inBulk) this.ordered.remove(summary);
  }
}

export function summarise(tool: ToolFile, path: string, stamp: FileStamp): ToolSummary {
  return {
    id: tool.id,
    slug: tool.slug,
    version: shared(tool.version),
    bundleID: shared(tool.bundleID),
    name: tool.name,
    type: shared(tool.type),
    isEnabled: tool.isEnabled,
    ...(tool.tags?.length && { tags: tool.tags.map(shared) }),
    createdAt: tool.createdAt,
    // Versions never change, so the two are nearly always one text.
    modifiedAt: tool.modifiedAt === tool.createdAt ? tool.createdAt : tool.modifiedAt,
    file: { path, mtimeMs: stamp.mtimeMs, size: stamp.size },
  };
}

export function wholeOf(file: ToolFile): Tool {
  return { ...file, isBuiltIn: false };
}
