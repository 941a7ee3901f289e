import { dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { NewFile, SharedPlace } from './file-messages.ts';
import type { ProcessLock } from './lock.ts';
import { syncFileSystem, syncPaths } from './new-files.ts';
import { WriteJournal, type JournalPlace } from './write-journal.ts';

/** So few files do not make up for the making of a journal. */
const fewFiles = 64;
/** More at once are synced one by one: the disk takes many large files as fast as a journal of them. */
const mostBytes = 2 ** 20;
const settleAfterMs = 2000;
const syncAtOnce = 64;

/** New files that last because the journal keeps them, until the disk has them in their places. */
export class UnsettledWrites {
  readonly #place: SharedPlace;
  readonly #lock: ProcessLock;
  #journal: WriteJournal | undefined;
  #created = 0;
  #isPreparing = false;
  #settling: Promise<void> | undefined;
  #later: NodeJS.Timeout | undefined;

  constructor(place: SharedPlace, lock: ProcessLock) {
    this.#place = place;
    this.#lock = lock;
    this.#journal = WriteJournal.open(place.journalPath);
  }

  /** Whether `keep` is likely to take these. Makes the journal when there is reason to. */
  mayTake(files: readonly NewFile[]): boolean {
    this.#created += files.length;
    if (!this.#journal && this.#created > fewFiles && !this.#isPreparing) void this.#prepare();
    const bytes = files.reduce((sum, { text }) => sum + text.length, 0);
    return this.#journal !== undefined && bytes <= mostBytes;
  }

  /** Answers true when these last before they are placed. For whoever holds the lock. */
  keep(files: readonly NewFile[]): boolean {
    const journal = this.#journal;
    if (!journal) return false;
    const isKept = journal.append(files.map(({ path, text }) => ({ path, bytes: Buffer.from(text) })));
    if (!isKept || journal.isFilling) void this.settleAll().catch(() => {});
    else this.#settleLater();
    return isKept;
  }

  /** For whoever holds the lock. Throws when the disk refuses. */
  async settle(paths: readonly string[]): Promise<void> {
    const journal = (this.#journal ??= WriteJournal.open(this.#place.journalPath));
    if (!journal || journal.isEmpty) return;
    await this.#sync(paths);
    if (!journal.append(paths.map((path) => ({ path, bytes: undefined }))))
      await this.#settleAll(journal, async (work) => work());
  }

  /** Throws when the disk refuses; then everything stays in the journal. */
  settleAll(): Promise<void> {
    clearTimeout(this.#later);
    this.#later = undefined;
    const journal = this.#journal;
    if (!journal) return Promise.resolve();
    // Never by blocking: whoever holds the lock may wait for this thread.
    const held = (work: () => void): Promise<void> => this.#lock.hold(async () => work());
    this.#settling ??= this.#settleAll(journal, held).finally(() => (this.#settling = undefined));
    return this.#settling;
  }

  async #settleAll(journal: WriteJournal, held: (work: () => void) => Promise<void>): Promise<void> {
    let end: JournalPlace | undefined;
    // What is kept and not placed yet cannot be synced: whoever places it holds the lock.
    await held(() => (end = journal.end()));
    const start = journal.start();
    if (!start || !end) return;
    let next: JournalPlace = start;
    const paths: string[] = [];
    for (const entry of journal.entries()) {
      if (entry.next.at > end.at) break;
      next = entry.next;
      if (entry.bytes && paths.push(entry.path) % syncAtOnce === 0) await nextTurn();
    }
    await this.#syncMany(paths);
    if (next !== start) await held(() => journal.settle(start, next));
    if (!journal.isGone || this.#journal !== journal) return;
    this.#journal = undefined;
    this.#isPreparing = false;
    journal.close();
  }

  async #syncMany(paths: readonly string[]): Promise<void> {
    const { folder } = this.#place;
    const folders = new Set(paths.map((path) => join(folder, dirname(path))));
    if (paths.length > syncAtOnce && (await syncFileSystem(folder, folders))) return;
    for (let from = 0; from < paths.length; from += syncAtOnce) await this.#sync(paths.slice(from, from + syncAtOnce));
  }

  async #sync(paths: readonly string[]): Promise<void> {
    const { folder } = this.#place;
    const folders = new Set(paths.map((path) => dirname(path)));
    await syncPaths([...paths, ...folders].map((path) => join(folder, path)));
  }

  #settleLater(): void {
    if (this.#later) this.#later.refresh();
    else this.#later = setTimeout(() => void this.settleAll().catch(() => {}), settleAfterMs).unref();
  }

  /** Once: where it fails, it would fail again. */
  async #prepare(): Promise<void> {
    this.#isPreparing = true;
    try {
      await WriteJournal.prepare(this.#place.journalPath);
      this.#journal = WriteJournal.open(this.#place.journalPath);
    } catch {
      // Without one, files are synced one by one.
    }
  }
}
