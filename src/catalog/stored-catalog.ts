import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseUuid7, type Tool } from '../schema/index.ts';
import { ProcessLock, syncFolder, type Database } from '../store/index.ts';
import { openCatalogCache, type CatalogCache } from './catalog-cache.ts';
import { FolderWatch } from './folder-watch.ts';
import { bundleFileName, bundlePath, parseTool, type ToolFile } from './stored-files.ts';
import { StoredRecords, summarise, wholeOf, type Change, type FileStamp } from './stored-records.ts';
import type { ToolSummary } from './tool-summary.ts';

/** One change of files, made while this process holds the catalog's lock. */
export interface Operation<T> {
  /** Every path it may touch, known beforehand: other processes are told before anything moves. */
  paths: string[];
  /** Checks against the newest state and moves the files; throws a Failure to refuse. */
  apply(): Promise<T>;
}

interface Queued {
  operation: Operation<unknown>;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

export interface StoredCatalogOptions {
  folder: string;
  cachePath: string;
  lockPath: string;
  db: Database;
  onChange: (changes: Change[]) => void;
  onCorrupt: (path: string, reason: string) => void;
  /** Another process changed switches of offered bundles or tools. */
  onSwitches: () => void;
}

/** Stands for the switches table in the list of changed paths. */
export const switchesPath = 'switches';

const keptTools = 4096;
const readAtOnce = 32;
const lookEveryMs = 1500;
const strayMs = 3600_000;

/** The catalog's files: loaded once, kept true while we and others change them. */
export class StoredCatalog {
  readonly records = new StoredRecords();
  readonly #options: StoredCatalogOptions;
  readonly #cache: CatalogCache;
  readonly #lock: ProcessLock;
  readonly #watch: FolderWatch;
  readonly #whole = new Map<string, Tool>();
  readonly #queue: Queued[] = [];
  #working: Promise<void> | undefined;
  /** Up to here everything was taken in under the lock. */
  #seenSeq = 0;
  #settledSeq = 0;
  #settlingSeq = 0;
  #looking: NodeJS.Timeout | undefined;
  #background: Promise<void> = Promise.resolve();
  #closed = false;

  private constructor(options: StoredCatalogOptions, cache: CatalogCache) {
    this.#options = options;
    this.#cache = cache;
    this.#lock = new ProcessLock(options.lockPath);
    this.#watch = new FolderWatch(options.folder, (paths) => this.#inBackground(() => this.#look(paths)));
  }

  static async open(options: StoredCatalogOptions): Promise<StoredCatalog> {
    await options.db.migrate('catalog_changes', [
      'CREATE TABLE catalog_changes (seq INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL)',
    ]);
    const self = new StoredCatalog(options, await openCatalogCache(options.cachePath));
    await self.#load();
    return self;
  }

  /** The whole of a stored tool; undefined when its file vanished or broke since. */
  async whole(summary: ToolSummary): Promise<Tool | undefined> {
    const file = summary.file;
    if (!file) return summary.whole;
    const key = summary.id;
    const kept = this.#whole.get(key);
    if (kept && kept.isEnabled === summary.isEnabled) return kept;
    const text =
      this.#cache.text(file.path, file.mtimeMs, file.size) ??
      (await readFile(join(this.#options.folder, file.path), 'utf8').catch(() => undefined));
    if (text === undefined) return undefined;
    try {
      return this.#keep(wholeOf(parseTool(text, file.path, summary.bundleID)));
    } catch {
      return undefined;
    }
  }

  #keep(tool: Tool): Tool {
    this.#whole.delete(tool.id);
    this.#whole.set(tool.id, tool);
    if (this.#whole.size > keptTools) this.#whole.delete(this.#whole.keys().next().value!);
    return tool;
  }

  /** Queues a change; those that wait together share one hold of the lock and one sync of each folder. */
  change<T>(operation: Operation<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ operation, resolve: resolve as (value: unknown) => void, reject });
      this.#working ??= Promise.resolve().then(() => this.#work());
    });
  }

  async #work(): Promise<void> {
    await this.#workGroups();
    this.#working = undefined;
    // A change that came while the last group was being answered found this work still set.
    if (this.#queue.length > 0) await (this.#working ??= this.#work());
  }

  async #workGroups(): Promise<void> {
    while (this.#queue.length > 0) {
      let group: Queued[] = [];
      try {
        await this.#lock.hold(async () => {
          group = this.#queue.splice(0, 64);
          await this.#applyGroup(group);
        });
      } catch (error) {
        for (const each of group.length > 0 ? group : this.#queue.splice(0)) each.reject(error);
      }
    }
  }

  async #applyGroup(group: Queued[]): Promise<void> {
    await this.#catchUp();
    await this.#announce(group.flatMap(({ operation }) => operation.paths));
    const folders = new Set<string>();
    const settle: (() => void)[] = [];
    for (const { operation, resolve, reject } of group) {
      try {
        const value = await operation.apply();
        for (const path of operation.paths) folders.add(dirname(path));
        // A new bundle is a new entry of the catalog's folder itself.
        if (operation.paths.some((path) => path.endsWith(`/${bundleFileName}`))) folders.add('.');
        settle.push(() => resolve(value));
      } catch (error) {
        settle.push(() => reject(error));
      }
    }
    await Promise.all([...folders].map((folder) => this.#syncIfThere(folder)));
    for (const each of settle) each();
  }

  async #syncIfThere(folder: string): Promise<void> {
    await syncFolder(join(this.#options.folder, folder)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
  }

  /** Tells other processes before anything moves, so that a holder who dies in between hides nothing from them. */
  async #announce(paths: string[]): Promise<void> {
    this.#seenSeq = await this.#options.db.write((tx) => {
      for (const path of paths) tx.run('INSERT INTO catalog_changes (path) VALUES (?)', path);
      const last = tx.get<{ seq: number }>('SELECT max(seq) AS seq FROM catalog_changes')?.seq ?? 0;
      tx.run('DELETE FROM catalog_changes WHERE seq < ?', last - 50_000);
      return last;
    });
  }

  /** Reads what other processes changed since we last looked; called with the lock held. */
  async #catchUp(): Promise<void> {
    const { db } = this.#options;
    const oldest = db.get<{ seq: number | null }>('SELECT min(seq) AS seq FROM catalog_changes')?.seq ?? null;
    if (oldest !== null && oldest > this.#seenSeq + 1) return this.#lookThrough();
    const rows = db.all<{ seq: number; path: string }>('SELECT seq, path FROM catalog_changes WHERE seq > ?', this.#seenSeq);
    if (rows.length === 0) return;
    await this.#look(new Set(rows.map(({ path }) => path)));
    this.#seenSeq = rows.at(-1)!.seq;
  }

  /** Takes in a file that this process has just written, and tells listeners. */
  async took(path: string, text: string): Promise<void> {
    const info = await stat(join(this.#options.folder, path));
    this.#watch.add(dirname(path));
    this.#tell(this.#take(path, text, info));
  }

  gone(paths: string[]): void {
    this.#cache.remove(paths);
    this.#tell(...paths.map((path) => this.records.forget(path)));
  }

  #take(path: string, text: string, stamp: FileStamp): Change | undefined {
    const change = this.records.take(path, text, stamp);
    const reason = this.records.corrupt.get(path);
    if (reason !== undefined) {
      this.#cache.remove([path]);
      this.#options.onCorrupt(path, reason);
    } else if (change?.kind === 'tool' && change.whole) {
      const { whole } = change;
      this.#keep(wholeOf(whole));
      this.#cache.put([{ path, mtimeMs: stamp.mtimeMs, size: stamp.size, text, summary: packSummary(whole) }]);
    }
    return change;
  }

  #tell(...changes: (Change | undefined)[]): void {
    const real = changes.filter((change) => change !== undefined);
    if (real.length > 0) this.#options.onChange(real);
  }

  async #load(): Promise<void> {
    this.#seenSeq =
      this.#options.db.get<{ seq: number | null }>('SELECT max(seq) AS seq FROM catalog_changes')?.seq ?? 0;
    this.#watch.add('');
    const unread: string[] = [];
    const stale: string[] = [];
    const folders = await this.#folders();
    await inTurns(folders, async (folder) => {
      const paths = await this.#filesOf(folder);
      // Folder by folder: all at once they would need as much memory again as the catalog itself.
      const cached = new Map(this.#cache.summaries(folder).map((row) => [row.path, row]));
      for (const path of paths) {
        const row = cached.get(path);
        if (row) this.records.takeSummary(unpackSummary(row.summary, path, row), true);
        else unread.push(path);
        cached.delete(path);
      }
      stale.push(...cached.keys());
    });
    this.records.settle();
    const known = new Set(folders);
    for (const folder of this.#cache.folders()) if (!known.has(folder)) stale.push(...this.#cache.summaries(folder).map((row) => row.path));
    this.#cache.remove(stale);
    await inTurns(unread, (path) => this.#lookAt(path));
    this.#inBackground(() => this.#lookThrough());
    this.#inBackground(() => this.#sweep());
    this.#looking = setInterval(() => this.#inBackground(() => this.#lookAround()), lookEveryMs);
    this.#looking.unref();
  }

  /** What writers that were killed left behind; younger ones may belong to a writer that still runs. */
  async #sweep(): Promise<void> {
    for (const name of await readdir(this.#options.folder)) {
      if (!name.endsWith('.tmp')) continue;
      const path = join(this.#options.folder, name);
      const info = await stat(path).catch(() => undefined);
      if (info && Date.now() - info.mtimeMs > strayMs) await rm(path, { force: true });
    }
  }

  async #folders(): Promise<string[]> {
    const names = await readdir(this.#options.folder);
    return names.filter((name) => parseUuid7(name) === name);
  }

  async #filesOf(folder: string): Promise<string[]> {
    this.#watch.add(folder);
    const names = await readdir(join(this.#options.folder, folder)).catch(() => []);
    return names.filter((name) => name.endsWith('.json') && !name.startsWith('.')).map((name) => `${folder}/${name}`);
  }

  /** Compares every file with what we know of it: in small steps, behind everything else. */
  async #lookThrough(): Promise<void> {
    const known = new Set(this.records.allPaths());
    for (const folder of await this.#folders()) {
      const paths = await this.#filesOf(folder);
      for (const path of paths) known.delete(path);
      await inTurns(paths, (path) => this.#lookAt(path));
      if (this.#closed) return;
    }
    for (const path of known) await this.#lookAt(path);
  }

  /** Looks at what the system cannot watch for us, and at what other processes announced. */
  async #lookAround(): Promise<void> {
    const newest = await this.freshen();
    // Announced is not yet moved: each row is looked at in two rounds before it counts as seen.
    this.#settledSeq = Math.max(this.#settledSeq, this.#settlingSeq);
    this.#settlingSeq = newest;
    for (const folder of this.#watch.blind) await this.#look(new Set([folder]));
  }

  /** Looks at what other processes announced lately; answers the newest announcement. */
  async freshen(): Promise<number> {
    const from = Math.max(this.#seenSeq, this.#settledSeq);
    const rows = this.#options.db.all<{ seq: number; path: string }>('SELECT seq, path FROM catalog_changes WHERE seq > ?', from);
    if (rows.length > 0) await this.#look(new Set(rows.map(({ path }) => path)));
    return rows.at(-1)?.seq ?? from;
  }

  async #look(paths: Set<string>): Promise<void> {
    for (const path of paths) {
      if (path === switchesPath) this.#options.onSwitches();
      else if (parseUuid7(path) === path) await this.#lookAtFolder(path);
      else await this.#lookAt(path);
    }
  }

  async #lookAtFolder(folder: string): Promise<void> {
    const present = await this.#filesOf(folder);
    const known = this.records.pathsOf(folder);
    if (present.length === 0) this.#watch.drop(folder);
    await inTurns([...new Set([...present, ...known])], (path) => this.#lookAt(path));
  }

  async #lookAt(path: string): Promise<void> {
    const full = join(this.#options.folder, path);
    const info = await stat(full).catch(() => undefined);
    if (!info?.isFile()) {
      if (this.records.stampOf(path) || this.records.corrupt.has(path)) this.gone([path]);
      return;
    }
    const known = this.records.stampOf(path);
    if (known && known.mtimeMs === info.mtimeMs && known.size === info.size) return;
    const text = await readFile(full, 'utf8').catch(() => undefined);
    if (text !== undefined) this.#tell(this.#take(path, text, info));
  }

  #inBackground(work: () => Promise<void>): void {
    if (this.#closed) return;
    this.#background = this.#background.then(work).catch(() => {});
  }

  /** Removes a bundle's folder with everything stray in it. */
  async removeFolder(bundleID: string): Promise<void> {
    this.#watch.drop(bundleID);
    await rm(join(this.#options.folder, bundleID), { recursive: true, force: true });
    this.gone([bundlePath(bundleID)]);
  }

  async close(): Promise<void> {
    clearInterval(this.#looking);
    this.#closed = true;
    this.#watch.close();
    await this.#working;
    await this.#background;
    await this.#lock.close();
    await this.#cache.close();
  }
}

async function inTurns<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length) await work(items[next++]!);
  };
  await Promise.all(Array.from({ length: Math.min(readAtOnce, items.length) }, worker));
}

/** A summary as one short array of text: 125,000 of them are read at every start. */
function packSummary(tool: ToolFile): string {
  const { id, slug, version, bundleID, name, type, isEnabled, createdAt, modifiedAt, tags } = tool;
  return JSON.stringify([id, slug, version, bundleID, name, type, isEnabled, createdAt, modifiedAt, tags ?? []]);
}

type Packed = [string, string, string, string, string, ToolFile['type'], boolean, string, string, string[]];

function unpackSummary(packed: string, path: string, stamp: FileStamp): ToolSummary {
  const [id, slug, version, bundleID, name, type, isEnabled, createdAt, modifiedAt, tags] = JSON.parse(packed) as Packed;
  const parts = { id, slug, version, bundleID, name, type, isEnabled, createdAt, modifiedAt, tags };
  return summarise(parts as ToolFile, path, stamp);
}
