import { access } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import { entryPoint } from '../entry.ts';
import { AskedThread } from './asked-thread.ts';
import type { Created, FileRequest, KnownFile, Looked, NewFile, SharedPlace } from './file-messages.ts';

/**
 * Works on many small files in a thread of its own, which may wait for the disk: a hop to the pool for every step of
 * every file would cost more than the step.
 */
export class FileThread {
  readonly #folder: string;
  readonly #journalPath: string;
  readonly #thread: AskedThread<FileRequest>;
  #hasCreated = false;

  constructor(place: SharedPlace) {
    this.#folder = place.folder;
    this.#journalPath = place.journalPath;
    this.#thread = new AskedThread(
      'the thread that writes files',
      () =>
        new Worker(entryPoint('store/file-worker'), {
          workerData: place,
          resourceLimits: { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 8 },
        }),
    );
  }

  /** Puts new files into the shared folder, all in one hop; each lasts when it is answered. See SharedFolder. */
  create(files: NewFile[], since: number): Promise<Created> {
    this.#hasCreated = true;
    return this.#thread.ask({ kind: 'create', files, since }) as Promise<Created>;
  }

  /**
   * To be called before anything else than `create` is done to paths, by whoever holds the lock: what was created there
   * lasts by itself from now on, and is not put back after a power cut.
   */
  async settle(paths: readonly string[]): Promise<void> {
    if (await this.#hasJournal()) await this.#thread.ask({ kind: 'settle', paths });
  }

  #hasJournal(): Promise<boolean> {
    return access(this.#journalPath).then(
      () => true,
      () => false,
    );
  }

  /** Puts a file in its place in the shared folder, whatever is there; it lasts when it is answered. Throws when the system refuses. */
  replace(path: string, text: string): Promise<{ mtimeMs: number; size: number }> {
    return this.#thread.ask({ kind: 'replace', path, text }) as Promise<{ mtimeMs: number; size: number }>;
  }

  /** Reads the files that are not as they were known. */
  look(files: KnownFile[]): Promise<Looked[]> {
    return this.#thread.ask({ kind: 'look', folder: this.#folder, files }) as Promise<Looked[]>;
  }

  async close(): Promise<void> {
    // What cannot be settled now stays in the journal.
    if (this.#hasCreated && (await this.#hasJournal())) await this.#thread.ask({ kind: 'settle-all' }).catch(() => {});
    await this.#thread.close();
  }
}
