import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parseUuid7, type Tool } from '../schema/index.ts';
import { FileThread, makeFolder, ProcessLock, syncFolder, type Database, type SharedPlace } from '../store/index.ts';
import { openCatalogCache, type CatalogCache } from './catalog-cache.ts';
import { ChangeLog } from './change-log.ts';
import { ChangeQueue, type Creation, type Operation } from './change-queue.ts';
import { FolderWatch } from './folder-watch.ts';
import { readParts, writeParts } from './parts-file.ts';
import { bundlePath, parseTool, type ToolFile } from './stored-files.ts';
import { StoredRecords, summarise, wholeOf, type Change, type FileStamp, type SavedRecords } from './stored-records.ts';
import type { ToolSummary } from './tool-summary.ts';

export interface StoredCatalogOptions {
  folder: string;
  /** Where all records lie between two starts. */
  recordsPath: string;
  cachePath: string;
  lockPath: string;
  db: Database;
  /** Where that one lies, for the thread that makes files. */
  dbPath: string;
  onChange: (changes: Change[]) => void;
  onCorrupt: (path: string, reason: string) => void;
  /** Another process changed switches of offered bundles or tools. */
  onSwitches: () => void;
}

/** Stands for the switches table in the list of changed paths. */
export const switchesPath = 'switches';

/** Where new files are written; nobody watches it, so nobody is woken by files that are not there yet. */
const draftsFolder = '.drafts';
interface SavedHead {
  /** Every announcement up to here is in the records. */
  seq: number;
  records: SavedRecords['head'];
}

/** In bulk: the order is made when all are there. Told: by another process, which put these into the cache. */
interface Looking {
  inBulk?: boolean;
  told?: Set<string> | undefined;
}

const keptTools = 4096;
const foldersAtOnce = 32;
const lookAtOnce = 64;
const lookEveryMs = 1500;
const takeInAfterMs = 50;
const strayMs = 3600_000;

/** The catalog's files: loaded once, kept true while we and others change them. */
export class StoredCatalog {
  readonly records = new StoredRecords();
  readonly #options: StoredCatalogOptions;
  readonly #cache: CatalogCache;
  readonly #lock: ProcessLock;
  readonly #watch: FolderWatch;
  readonly #whole = new Map<string, Tool>();
  readonly #log: ChangeLog;
  readonly #reads: FileThread;
  readonly #writes: FileThread;
  readonly #changes: ChangeQueue;
  #takingIn: NodeJS.Timeout | undefined;
  #settledSeq = 0;
  #settlingSeq = 0;
  #looking: NodeJS.Timeout | undefined;
  #background: Promise<void> = Promise.resolve();
  #closed = false;
  #savedRevision = -1;

  private constructor(options: StoredCatalogOptions, cache: CatalogCache, log: ChangeLog) {
    const { folder, dbPath, lockPath } = options;
    this.#options = options;
    this.#cache = cache;
    this.#log = log;
    this.#lock = new ProcessLock(lockPath);
    const place: SharedPlace = { folder, drafts: join(folder, draftsFolder), dbPath, lockPath, writer: log.writer };
    this.#reads = new FileThread(place);
    this.#writes = new FileThread(place);
    this.#changes = new ChangeQueue({
      log,
      lock: this.#lock,
      files: this.#writes,
      takeIn: (upTo) => this.#takeIn(upTo),
      takeInLater: (upTo) => this.#takeInLater(upTo),
    });
    this.#watch = new FolderWatch(folder, (paths) => this.#inBackground(() => this.#look(paths, this.#told())));
  }

  static async open(options: StoredCatalogOptions): Promise<StoredCatalog> {
    const log = await ChangeLog.open(options.db);
    await makeFolder(join(options.folder, draftsFolder));
    const self = new StoredCatalog(options, await openCatalogCache(options.cachePath), log);
    await self.#load();
    return self;
  }

  /** The whole of a tool, if it is in memory. */
  kept(summary: ToolSummary): Tool | undefined {
    if (!summary.file) return summary.whole;
    const kept = this.#whole.get(summary.id);
    return kept?.isEnabled === summary.isEnabled ? kept : undefined;
  }

  /** The whole of a stored tool; undefined when its file vanished or broke since. Whoever reads all of them keeps none. */
  async whole(summary: ToolSummary, isKept = true): Promise<Tool | undefined> {
    const kept = this.kept(summary);
    const file = summary.file;
    if (kept || !file) return kept;
    const text =
      this.#cache.text(file.path, file.mtimeMs, file.size) ??
      (await readFile(join(this.#options.folder, file.path), 'utf8').catch(() => undefined));
    if (text === undefined) return undefined;
    try {
      const tool = wholeOf(parseTool(text, file.path, summary.bundleID));
      return isKept ? this.#keep(tool) : tool;
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

  /** Queues a change; those that wait together are made together. */
  change<T>(operation: Operation<T>): Promise<T> {
    return this.#changes.change(operation);
  }

  /** Queues a new file; those that wait together are placed together. */
  async create<T>(creation: Creation<T>): Promise<T> {
    this.#watch.expect(creation.path);
    try {
      return await this.#changes.create(creation);
    } catch (error) {
      // Perhaps it appeared by another's hand.
      this.#watch.touch(creation.path);
      throw error;
    }
  }

  /** Reads what other processes told, up to a row before which nothing is under way any more. */
  async #takeIn(upTo: number): Promise<void> {
    const { paths, isBroken } = this.#log.newsSince(this.#log.seen);
    if (isBroken) await this.#lookThrough(() => false);
    await this.#look(paths, paths);
    this.#log.saw(upTo);
  }

  /** What others told lately. They put it into the cache, too. */
  #told(): Set<string> {
    return this.#log.newsSince(Math.max(this.#log.seen, this.#settledSeq)).paths;
  }

  /** Nothing that we do depends on it yet: many of them are taken in together. */
  #takeInLater(upTo: number): void {
    this.#takingIn ??= setTimeout(() => {
      this.#takingIn = undefined;
      this.#inBackground(() => this.#takeIn(upTo));
    }, takeInAfterMs).unref();
  }

  /** Writes a file whatever is there, takes it in, and tells listeners; called with the lock held. */
  async replace(path: string, text: string): Promise<void> {
    const stamp = await this.#writes.replace(path, text);
    this.#watch.add(dirname(path));
    this.#tell([this.#take(path, text, stamp)]);
  }

  /** The same for a tool that this process has just made: nothing of it must be read again. */
  tookNew(path: string, file: ToolFile, text: string, stamp: FileStamp): void {
    this.#watch.add(dirname(path));
    const change = this.records.takeNew(path, file, stamp);
    this.#keep(wholeOf(file));
    this.#putIntoCache(path, file, text, stamp);
    this.#tell([change]);
  }

  gone(paths: string[]): void {
    this.#cache.remove(paths);
    this.#tell(paths.map((path) => this.records.forget(path)));
  }

  #take(path: string, text: string, stamp: FileStamp, { inBulk = false, told }: Looking = {}): Change | undefined {
    const change = this.records.take(path, text, stamp, inBulk);
    const reason = this.records.corrupt.get(path);
    if (reason !== undefined) {
      this.#cache.remove([path]);
      this.#options.onCorrupt(path, reason);
    } else if (change?.kind === 'tool' && change.whole) {
      this.#keep(wholeOf(change.whole));
      if (!told?.has(path)) this.#putIntoCache(path, change.whole, text, stamp);
    }
    return change;
  }

  #putIntoCache(path: string, file: ToolFile, text: string, { mtimeMs, size }: FileStamp): void {
    this.#cache.put({ path, mtimeMs, size, text, summary: packSummary(file) });
  }

  #tell(changes: (Change | undefined)[]): void {
    const real = changes.filter((change) => change !== undefined);
    if (real.length > 0) this.#options.onChange(real);
  }

  async #load(): Promise<void> {
    this.#watch.add('');
    const restored = await this.#restore();
    const unread: string[] = [];
    const folders = await this.#folders();
    await inTurns(folders, foldersAtOnce, async (folder) => {
      const paths = await this.#filesOf(folder);
      const fresh = paths.filter((path) => !this.records.stampOf(path));
      this.#forgetMissing(folder, paths);
      // There are few of these, and all else depends on them: they are compared with their files before anything is served.
      if (this.records.stampOf(bundlePath(folder))) unread.push(bundlePath(folder));
      if (fresh.length === 0) return;
      // Folder by folder: all at once they would need as much memory again as the catalog itself.
      const cached = new Map(this.#cache.summaries(folder).map((row) => [row.path, row]));
      for (const path of fresh) {
        const row = restored?.doubtful.has(path) ? undefined : cached.get(path);
        if (row) this.records.takeSummary(unpackSummary(row.summary, path, row), !restored);
        else unread.push(path);
      }
    });
    const there = new Set(folders);
    for (const folder of this.records.bundleFolders()) if (!there.has(folder)) this.#forgetMissing(folder, []);
    await this.#lookAt(unread, { inBulk: !restored });
    if (!restored) this.records.settle();
    this.#inBackground(() => this.#lookThrough(() => this.#closed));
    this.#inBackground(() => this.#sweep());
    if (!restored) this.#inBackground(() => this.#saveWhileServing());
    this.#looking = setInterval(() => this.#inBackground(() => this.#lookAround()), lookEveryMs);
    this.#looking.unref();
  }

  /**
   * Takes over the records of the last run: what was announced since counts as unknown. Undefined when there are none, or
   * when nobody can tell any more what was announced since.
   */
  async #restore(): Promise<{ doubtful: Set<string> } | undefined> {
    const saved = await readParts<SavedHead>(this.#options.recordsPath);
    const doubtful = saved && saved.head.seq <= this.#log.seen ? this.#log.pathsAfter(saved.head.seq) : undefined;
    if (!saved || !doubtful) return undefined;
    this.records.restore({ head: saved.head.records, parts: saved.parts });
    this.#savedRevision = this.records.revision;
    for (const path of doubtful) this.records.forget(path);
    return { doubtful };
  }

  /** Under the lock no change is under way: what was announced until then is also in the records. */
  async #saveWhileServing(): Promise<void> {
    const seq = await this.#lock.hold(async () => {
      await this.#takeIn(this.#log.newsSince(this.#log.seen).upTo);
      return this.#log.seen;
    });
    await this.#save(seq);
  }

  async #save(seq: number): Promise<void> {
    const { revision } = this.records;
    if (revision === this.#savedRevision) return;
    const { head, parts } = this.records.save();
    const saved = { head: { seq, records: head }, parts };
    await writeParts<SavedHead>(this.#options.recordsPath, saved, () => this.records.revision === revision);
    this.#savedRevision = revision;
  }

  /** Files that we know of and that are not among those present. */
  #missingIn(folder: string, present: readonly string[]): string[] {
    // To count is much less work than to name them all, and nearly always enough.
    const known = present.filter((path) => this.records.stampOf(path)).length;
    if (known === this.records.knownIn(folder) && this.records.corrupt.size === 0) return [];
    const there = new Set(present);
    return this.records.pathsOf(folder).filter((path) => !there.has(path));
  }

  #forgetMissing(folder: string, present: readonly string[]): void {
    const missing = this.#missingIn(folder, present);
    this.#cache.remove(missing);
    for (const path of missing) this.records.forget(path);
  }

  /** What writers that were killed left behind; younger ones may belong to a writer that still runs. */
  async #sweep(): Promise<void> {
    for (const folder of ['.', draftsFolder])
      for (const name of await readdir(join(this.#options.folder, folder))) {
        if (!name.endsWith('.tmp')) continue;
        const path = join(this.#options.folder, folder, name);
        const info = await stat(path).catch(() => undefined);
        if (info && Date.now() - info.mtimeMs > strayMs) await rm(path, { force: true });
      }
    const known = this.records.bundleFolders();
    for (const folder of this.#cache.folders())
      if (!known.has(folder)) this.#cache.remove(this.#cache.summaries(folder).map((row) => row.path));
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
  async #lookThrough(isOver: () => boolean): Promise<void> {
    const there = await this.#folders();
    for (const folder of new Set([...there, ...this.records.bundleFolders()])) {
      if (isOver()) return;
      await this.#lookAtFolder(folder);
    }
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
    const { paths, upTo } = this.#log.newsSince(Math.max(this.#log.seen, this.#settledSeq));
    await this.#look(paths, paths);
    return upTo;
  }

  async #look(paths: Set<string>, told?: Set<string>): Promise<void> {
    const files: string[] = [];
    for (const path of paths) {
      if (path === switchesPath) this.#options.onSwitches();
      else if (parseUuid7(path) === path) await this.#lookAtFolder(path);
      else files.push(path);
    }
    await this.#lookAt(files, { told });
  }

  async #lookAtFolder(folder: string): Promise<void> {
    const present = await this.#filesOf(folder);
    if (present.length === 0) this.#watch.drop(folder);
    await this.#lookAt([...present, ...this.#missingIn(folder, present)]);
  }

  async #lookAt(paths: readonly string[], how: Looking = {}): Promise<void> {
    for (let from = 0; from < paths.length; from += lookAtOnce) {
      if (from > 0) await nextTurn();
      let left = paths.slice(from, from + lookAtOnce);
      while (left.length > 0) left = await this.#lookAtSome(left, how);
    }
  }

  /** Answers those that were changed from here while they were looked at: what was seen of them may be older. */
  async #lookAtSome(paths: readonly string[], how: Looking): Promise<string[]> {
    const known = paths.map((path) => this.records.stampOf(path));
    const asked = paths.map((path, at) => ({ path, mtimeMs: known[at]?.mtimeMs, size: known[at]?.size }));
    const looked = await this.#reads.look(asked);
    const again: string[] = [];
    const changes: (Change | undefined)[] = [];
    paths.forEach((path, at) => {
      const found = looked[at]!;
      if (this.records.stampOf(path)?.revision !== known[at]?.revision) again.push(path);
      else if (found === 'gone') {
        if (!known[at] && !this.records.corrupt.has(path)) return;
        this.#cache.remove([path]);
        changes.push(this.records.forget(path));
      } else if (found !== 'same') changes.push(this.#take(path, found.text, found, how));
    });
    this.#tell(changes);
    return again;
  }

  #inBackground(work: () => Promise<void>): void {
    if (this.#closed) return;
    this.#background = this.#background.then(work).catch(() => {});
  }

  /** Removes a bundle's folder with everything stray in it. */
  async removeFolder(bundleID: string): Promise<void> {
    this.#watch.drop(bundleID);
    await rm(join(this.#options.folder, bundleID), { recursive: true, force: true });
    await syncFolder(this.#options.folder);
    this.gone([bundlePath(bundleID)]);
  }

  async close(): Promise<void> {
    clearInterval(this.#looking);
    clearTimeout(this.#takingIn);
    this.#closed = true;
    this.#watch.close();
    await this.#changes.idle();
    await this.#background;
    // Without them the next start takes longer, no more.
    await this.#save(this.#log.seen).catch(() => {});
    await Promise.all([this.#reads.close(), this.#writes.close()]);
    await this.#lock.close();
    await this.#cache.close();
  }
}

async function inTurns<T>(items: readonly T[], atOnce: number, work: (item: T) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length) await work(items[next++]!);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
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
