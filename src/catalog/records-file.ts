import type { ChangeLog } from './change-log.ts';
import { readParts, writeParts } from './parts-file.ts';
import type { SavedRecords, StoredRecords } from './stored-records.ts';

interface SavedHead {
  /** Every announcement up to here in that log is in the records. */
  log: string;
  seq: number;
  records: SavedRecords['head'];
}

/** All records in one file between two starts, which may be lost: without it the next start takes longer, no more. */
export class RecordsFile {
  readonly #path: string;
  readonly #records: StoredRecords;
  readonly #log: ChangeLog;
  #revision = -1;

  constructor(path: string, records: StoredRecords, log: ChangeLog) {
    this.#path = path;
    this.#records = records;
    this.#log = log;
  }

  /**
   * Takes over the records of the last run: what was told since counts as unknown. Undefined when there are none, or
   * when nobody can tell any more what was told since.
   */
  async restore(): Promise<{ doubtful: Set<string> } | undefined> {
    const saved = await readParts<SavedHead>(this.#path);
    if (saved?.head.log !== this.#log.id || saved.head.seq > this.#log.seen) return undefined;
    const doubtful = this.#log.pathsAfter(saved.head.seq);
    if (!doubtful) return undefined;
    this.#records.restore({ head: saved.head.records, parts: saved.parts });
    this.#revision = this.#records.revision;
    for (const path of doubtful) this.#records.forget(path);
    return { doubtful };
  }

  /** Everything that was told up to `seq` must be in the records. */
  async save(seq: number): Promise<void> {
    const { revision } = this.#records;
    if (revision === this.#revision) return;
    const { head, parts } = this.#records.save();
    const saved = { head: { log: this.#log.id, seq, records: head }, parts };
    await writeParts<SavedHead>(this.#path, saved, () => this.#records.revision === revision);
    this.#revision = revision;
  }
}
