import { open, type FileHandle } from 'node:fs/promises';

/**
 * Makes commits survive a power cut without holding up the event loop: SQLite writes its log without waiting for the
 * disk, and one sync of that file, shared by all who ask meanwhile, is waited for here.
 */
export class WalSync {
  readonly #path: string;
  #handle: Promise<FileHandle> | undefined;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(databasePath: string) {
    this.#path = `${databasePath}-wal`;
  }

  /** Resolves when everything committed before this call is on disk. Rejects when the disk refuses. */
  written(): Promise<void> {
    if (!this.#running) return (this.#running = this.#sync());
    // The one that runs may have begun before the last commit: share the one after it.
    this.#next ??= this.#running
      .catch(() => {})
      .then(() => {
        this.#next = undefined;
        return (this.#running = this.#sync());
      });
    return this.#next;
  }

  async close(): Promise<void> {
    await this.#running?.catch(() => {});
    await (await this.#handle?.catch(() => undefined))?.close();
  }

  async #sync(): Promise<void> {
    try {
      this.#handle ??= open(this.#path, 'r+');
      await (await this.#handle).datasync();
    } catch (error) {
      this.#handle = undefined;
      throw error;
    } finally {
      this.#running = undefined;
    }
  }
}
