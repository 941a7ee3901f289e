import { dirname } from 'node:path';
import type { Tool } from '../schema/index.ts';
import {
  bundlePath,
  kindOf,
  parseBundle,
  parseTool,
  toolPath,
  type BundleFile,
  type ToolFile,
} from './stored-files.ts';
import { ToolOrder } from './tool-order.ts';
import type { ToolSummary } from './tool-summary.ts';
import { ToolTable, type SavedTools } from './tool-table.ts';

export interface FileStamp {
  mtimeMs: number;
  size: number;
}

/** Which take of a file this was: two changes within one tick of the file system's clock look alike otherwise. */
export interface KnownStamp extends FileStamp {
  revision: number;
}

/** All that is known, in a form that can be written and read in one go. */
export interface SavedRecords {
  head: { tools: Omit<SavedTools, 'parts'>; bundles: [BundleFile, KnownStamp | undefined][] };
  parts: Record<string, Uint8Array>;
}

export type Change =
  | { kind: 'tool'; summary: ToolSummary; whole?: ToolFile }
  | { kind: 'tool-gone'; summary: ToolSummary }
  | { kind: 'bundle'; id: string };

/** What the catalog's files say, in memory. Knows nothing of the disk: others bring the texts. */
export class StoredRecords {
  readonly bundles = new Map<string, BundleFile>();
  /** Files that cannot be read, by path, with the reason. */
  readonly corrupt = new Map<string, string>();
  readonly #tools = new ToolTable();
  readonly ordered = new ToolOrder(this.#tools);
  readonly #bundleStamps = new Map<string, KnownStamp>();
  #bundleRevisions = 0;

  /** Takes in a file's text; what is damaged is noted and hides nothing else. */
  take(path: string, text: string, stamp: FileStamp, inBulk = false): Change | undefined {
    const of = kindOf(path);
    if (!of) return undefined;
    this.corrupt.delete(path);
    try {
      if (of.kind === 'bundle') {
        this.bundles.set(of.bundleID, parseBundle(text, of.bundleID));
        const { mtimeMs, size } = stamp;
        this.#bundleStamps.set(path, { mtimeMs, size, revision: ++this.#bundleRevisions });
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

  /** Notes a file that cannot be read; false for one that is not ours. */
  unread(path: string, problem: string): boolean {
    if (!kindOf(path)) return false;
    this.corrupt.set(path, problem);
    return true;
  }

  /** Takes in a tool whose file was made from what is given. */
  takeNew(path: string, whole: ToolFile, stamp: FileStamp): ToolSummary {
    this.corrupt.delete(path);
    const summary = summarise(whole, path, stamp);
    this.takeSummary(summary);
    return summary;
  }

  /** Takes in what a cache remembered of a tool file. With `inBulk` the order is made later by `settle`. */
  takeSummary(summary: ToolSummary, inBulk = false): void {
    const old = this.#tools.byPath(summary.file!.path);
    if (old !== undefined) this.#drop(old, inBulk);
    const number = this.#tools.add(summary);
    if (inBulk) return;
    this.#tools.keep(number, summary);
    this.ordered.add(number);
  }

  settle(): void {
    this.ordered.settle();
  }

  /** Grows with every change of a tool or a bundle. */
  get revision(): number {
    return this.#tools.revision + this.#bundleRevisions;
  }

  save(): SavedRecords {
    const { parts, ...tools } = this.#tools.save();
    const bundles = [...this.bundles].map(([id, file]): [BundleFile, KnownStamp | undefined] => [
      file,
      this.#bundleStamps.get(bundlePath(id)),
    ]);
    return { head: { tools, bundles }, parts: { ...parts, order: this.ordered.save() } };
  }

  /** Takes what was saved as it is; for records that are still empty. */
  restore({ head: { tools, bundles }, parts }: SavedRecords): void {
    this.#tools.restore({ ...tools, parts });
    this.ordered.restore(parts['order']!);
    for (const [file, stamp] of bundles) {
      this.bundles.set(file.id, file);
      if (!stamp) continue;
      this.#bundleStamps.set(bundlePath(file.id), stamp);
      this.#bundleRevisions = Math.max(this.#bundleRevisions, stamp.revision);
    }
  }

  /** The file is gone. */
  forget(path: string): Change | undefined {
    this.corrupt.delete(path);
    const number = this.#tools.byPath(path);
    if (number !== undefined) {
      const summary = this.#tools.read(number);
      this.#drop(number, false);
      return { kind: 'tool-gone', summary };
    }
    const of = kindOf(path);
    if (of?.kind !== 'bundle') return undefined;
    this.#bundleStamps.delete(path);
    this.#bundleRevisions++;
    return this.bundles.delete(of.bundleID) ? { kind: 'bundle', id: of.bundleID } : undefined;
  }

  stampOf(path: string): KnownStamp | undefined {
    const number = this.#tools.byPath(path);
    return number === undefined ? this.#bundleStamps.get(path) : this.#tools.stamp(number);
  }

  /** Paths known below one bundle's folder, damaged ones included. */
  pathsOf(bundleID: string): string[] {
    const paths = Array.from(this.#tools.ofBundle(bundleID), (number) => this.#tools.read(number).file!.path);
    const own = bundlePath(bundleID);
    if (this.#bundleStamps.has(own)) paths.push(own);
    for (const path of this.corrupt.keys()) if (path.startsWith(`${bundleID}/`)) paths.push(path);
    return paths;
  }

  /** Folders of which anything is known. */
  bundleFolders(): Set<string> {
    const folders = new Set([...this.bundles.keys(), ...this.#tools.bundleIds()]);
    for (const path of this.corrupt.keys()) folders.add(dirname(path));
    return folders;
  }

  byKey(bundleID: string, slug: string, version: string): ToolSummary | undefined {
    return this.#found(this.#tools.byPath(toolPath(bundleID, slug, version)));
  }

  byId(id: string): ToolSummary | undefined {
    return this.#found(this.#tools.byId(id));
  }

  byName(name: string): readonly ToolSummary[] {
    return this.#tools.byName(name);
  }

  /** The name that other versions of a slug carry. */
  nameOf(bundleID: string, slug: string): string | undefined {
    return this.#found(this.#tools.bySlug(bundleID, slug))?.name;
  }

  /** All versions of all tools of one bundle, in no order. */
  ofBundle(bundleID: string): ToolSummary[] {
    return Array.from(this.#tools.ofBundle(bundleID), (number) => this.#tools.read(number));
  }

  countOf(bundleID: string): number {
    return this.#tools.countOf(bundleID);
  }

  /** Files in a bundle's folder that were read well: its tools and its own. */
  knownIn(bundleID: string): number {
    return this.countOf(bundleID) + (this.#bundleStamps.has(bundlePath(bundleID)) ? 1 : 0);
  }

  /** Tool files in a bundle's folder, damaged ones included. */
  filesIn(bundleID: string): number {
    const damaged = [...this.corrupt.keys()].filter((path) => path.startsWith(`${bundleID}/`));
    return this.countOf(bundleID) + damaged.length;
  }

  get toolCount(): number {
    return this.#tools.size;
  }

  #found(number: number | undefined): ToolSummary | undefined {
    return number === undefined ? undefined : this.#tools.get(number);
  }

  #drop(number: number, inBulk: boolean): void {
    if (!inBulk) this.ordered.remove(number);
    this.#tools.remove(number);
  }
}

export function summarise(tool: ToolFile, path: string, stamp: FileStamp): ToolSummary {
  return {
    id: tool.id,
    slug: tool.slug,
    version: tool.version,
    bundleID: tool.bundleID,
    name: tool.name,
    type: tool.type,
    isEnabled: tool.isEnabled,
    ...(tool.tags?.length && { tags: tool.tags }),
    createdAt: tool.createdAt,
    modifiedAt: tool.modifiedAt,
    file: { path, mtimeMs: stamp.mtimeMs, size: stamp.size },
  };
}

export function wholeOf(file: ToolFile): Tool {
  return { ...file, isBuiltIn: false };
}
