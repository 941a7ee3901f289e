import { readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Tool } from '../schema/index.ts';
import { FileThread, makeFolder, ProcessLock, recoverWrites, syncFolder, type SharedPlace } from '../store/index.ts';
import { packSummary, unpackSummary } from './cached-summary.ts';
import { openCatalogCache, type CatalogCache } from './catalog-cache.ts';
import { ChangeLog } from './change-log.ts';
import { ChangeQueue, type Creation, type Operation } from './change-queue.ts';
import { FolderLook, type Looking } from './folder-look.ts';
import { FolderWatch } from './folder-watch.ts';
import { NewsOfOthers } from './news-of-others.ts';
import { RecordsFile } from './records-file.ts';
import { bundlePath, type ToolFile } from './stored-files.ts';
import { StoredRecords, wholeOf, type Change, type FileStamp } from './stored-records.ts';
import type { ToolSummary } from './tool-summary.ts';
import { WholeTools } from './whole-tools.ts';

export interface StoredCatalogOptions {
  folder: string;
  /** Where all records lie between two starts. */
  recordsPath: string;
  cachePath: string;
  lockPath: string;
  /** Where the processes that share the catalog tell each other what they change. */
  changesPath: string;
  onChange: (changes: Change[]) => void;
  onCorrupt: (path: string, reason: string) => void;
  /** Something that nobody waited for failed; it is tried again with what comes next. */
  onTrouble: (error: unknown) => void;
  /** Another process changed switches of offered bundles or tools. */
  onSwitches: () => void;
}

/** Where new files are written, and kept; nobody watches these, so nobody is woken by files that are not there yet. */
const draftsFolder = '.drafts';
const journalFolder = '.journal';
const journalIn = (folder: string): string => join(folder, journalFolder, 'ring');

const foldersAtOnce = 32;
const lookEveryMs = 1500;
const strayMs = 3600_000;

/** The catalog's files: loaded once, kept true while we and others change them. */
export class StoredCatalog {
  readonly records = new StoredRecords();
  readonly #options: StoredCatalogOptions;
  readonly #cache: CatalogCache;
  readonly #lock: ProcessLock;
  readonly #watch: FolderWatch;
  readonly #look: FolderLook;
  readonly #saved: RecordsFile;
  readonly #wholes: WholeTools;
  readonly #log: ChangeLog;
  readonly #reads: FileThread;
  readonly #writes: FileThread;
  readonly #changes: ChangeQueue;
  readonly #others: NewsOfOthers;
  #looking: NodeJS.Timeout | undefined;
  #background: Promise<void> = Promise.resolve();
  #closed = false;

  private constructor(options: StoredCatalogOptions, cache: CatalogCache, log: ChangeLog) {
    const { folder, changesPath, lockPath } = options;
    this.#options = options;
    this.#cache = cache;
    this.#wholes = new WholeTools(folder, cache);
    this.#log = log;
    this.#lock = new ProcessLock(lockPath);
    const place: SharedPlace = {
      folder,
      drafts: join(folder, draftsFolder),
      journalPath: journalIn(folder),
      changesPath,
      lockPath,
      writer: log.writer,
    };
    this.#reads = new FileThread(place);
    this.#writes = new FileThread(place);
    this.#changes = new ChangeQueue({
      log,
      lock: this.#lock,
      files: this.#writes,
      takeIn: (upTo) => this.#others.takeIn(upTo),
      takeInLater: (upTo) => this.#others.takeInLater(upTo),
    });
    this.#watch = new FolderWatch(
      folder,
      (paths) => this.#inBackground(() => this.#others.lookAtTouched(paths)),
      () => this.#others.takeInAfterMs,
    );
    this.#look = new FolderLook({
      folder,
      records: this.records,
      files: this.#reads,
      watch: this.#watch,
      take: (path, text, stamp, how) => this.#take(path, text, stamp, how),
      unread: (path, problem) => this.#unread(path, problem),
      forget: (path) => this.#forget(path),
      tell: (changes) => this.#tell(changes),
    });
    this.#others = new NewsOfOthers({
      log,
      records: this.records,
      look: this.#look,
      isBusy: () => this.#changes.isBusy,
      onSwitches: options.onSwitches,
      inBackground: (work) => this.#inBackground(work),
    });
    this.#saved = new RecordsFile(options.recordsPath, this.records, log);
  }

  static async open(options: StoredCatalogOptions): Promise<StoredCatalog> {
    const log = await ChangeLog.open(options.changesPath);
    for (const name of [draftsFolder, journalFolder]) await makeFolder(join(options.folder, name));
    const self = new StoredCatalog(options, await openCatalogCache(options.cachePath), log);
    await self.#lock.hold(() => recoverWrites(options.folder, journalIn(options.folder)));
    await self.#load();
    return self;
  }

  /** The whole of a tool, if it is in memory. */
  kept(summary: ToolSummary): Tool | undefined {
    return this.#wholes.kept(summary);
  }

  /** The whole of a stored tool; undefined when its file vanished or broke since. Whoever reads all of them keeps none. */
  whole(summary: ToolSummary, isKept = true): Promise<Tool | undefined> {
    return this.#wholes.read(summary, isKept);
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

  /** Writes a file whatever is there, takes it in, and tells listeners; called with the lock held. */
  async replace(path: string, text: string): Promise<void> {
    const stamp = await this.#writes.replace(path, text);
    this.#watch.add(dirname(path));
    this.#tell([this.#take(path, text, stamp)]);
  }

  /** The same for a tool that this process has just made: nothing of it must be read again. */
  tookNew(path: string, file: ToolFile, text: string, stamp: FileStamp): ToolSummary {
    this.#watch.add(dirname(path));
    const summary = this.records.takeNew(path, file, stamp);
    this.#wholes.keep(wholeOf(file));
    this.#putIntoCache(path, file, text, stamp);
    this.#tell([{ kind: 'tool', summary, whole: file }]);
    return summary;
  }

  gone(paths: string[]): void {
    this.#tell(paths.map((path) => this.#forget(path)));
  }

  #forget(path: string): Change | undefined {
    this.#cache.remove([path]);
    const change = this.records.forget(path);
    if (change?.kind === 'tool-gone') this.#wholes.forget(change.summary.id);
    return change;
  }

  #take(path: string, text: string, stamp: FileStamp, { inBulk = false, told }: Looking = {}): Change | undefined {
    const change = this.records.take(path, text, stamp, inBulk);
    const reason = this.records.corrupt.get(path);
    if (reason !== undefined) {
      this.#cache.remove([path]);
      this.#options.onCorrupt(path, reason);
    } else if (change?.kind === 'tool' && change.whole) {
      this.#wholes.keep(wholeOf(change.whole));
      if (!told?.has(path)) this.#putIntoCache(path, change.whole, text, stamp);
    }
    return change;
  }

  #unread(path: string, problem: string): void {
    if (this.records.unread(path, problem)) this.#options.onCorrupt(path, problem);
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
    const restored = await this.#saved.restore();
    const unread: string[] = [];
    const folders = await this.#look.folders();
    await inTurns(folders, foldersAtOnce, async (folder) => {
      const paths = await this.#look.filesOf(folder);
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
    await this.#look.at(unread, { inBulk: !restored });
    if (!restored) this.records.settle();
    this.#inBackground(() => this.#look.through(() => this.#closed));
    this.#inBackground(() => this.#sweep());
    if (!restored) this.#inBackground(() => this.#saveWhileServing());
    this.#looking = setInterval(() => this.#inBackground(() => this.#lookAround()), lookEveryMs);
    this.#looking.unref();
  }

  /** Under the lock no change is under way: what was announced until then is also in the records. */
  async #saveWhileServing(): Promise<void> {
    const seq = await this.#lock.hold(async () => {
      await this.#others.takeIn(this.#log.newsSince(this.#log.seen).upTo);
      return this.#log.seen;
    });
    await this.#saved.save(seq);
  }

  #forgetMissing(folder: string, present: readonly string[]): void {
    for (const path of this.#look.missingIn(folder, present)) this.#forget(path);
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

  /** Looks at what other processes told, and at what the system cannot watch for us. */
  async #lookAround(): Promise<void> {
    await this.#others.lookAround();
    for (const folder of this.#watch.blind) await (folder === '' ? this.#look.atRoot() : this.#look.atFolder(folder));
  }

  /** Looks at what other processes told until now. */
  async freshen(): Promise<void> {
    await this.#others.freshen();
  }

  #inBackground(work: () => Promise<void>): void {
    if (this.#closed) return;
    this.#background = this.#background.then(work).catch(this.#options.onTrouble);
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
    this.#others.close();
    this.#closed = true;
    this.#watch.close();
    await this.#changes.idle();
    await this.#background;
    // Without them the next start takes longer, no more.
    await this.#saved.save(this.#log.seen).catch(() => {});
    await Promise.all([this.#reads.close(), this.#writes.close()]);
    await this.#lock.close();
    await this.#log.close();
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
