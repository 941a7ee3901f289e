import { open, type FileHandle } from 'node:fs/promises';
import { SharedRuns } from '../schema/index.ts';

/**
 * Makes commits survive a power cut without holding up the event loop: SQLite writes its log without waiting for the
 * disk, and one sync of that file, shared by all who ask meanwhile, is waited for here.
 */
export class WalSync {
  readonly #path: string;
  readonly #syncs = new SharedRuns(() => this.#sync());
  #handle: Promise<FileHandle> | undefined;

  constructor(databasePath: string) {
    this.#path = `${databasePath}-wal`;
  }

  /** Resolves when everything committed before this call is on disk. Rejects when the disk refuses. */
  written(): Promise<void> {
    return this.#syncs.run();
  }

  async close(): Promise<void> {
    await this.#syncs.idle();
    await (await this.#handle?.catch(() => undefined))?.close();
  }

  async #sync(): Promise<void> {
    try {
      this.#handle ??= open(this.#path, 'r+');
      await (await this.#handle).datasync();
    } catch (error) {
      this.#handle = undefined;
      throw error;
    }
  }
}
