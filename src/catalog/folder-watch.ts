import { watch, type FSWatcher } from 'node:fs';
import { join } from 'node:path';

/**
 * Tells which files below a folder of folders were touched, by us or by anyone. Where the system cannot watch,
 * `onBlind` names the folder so that it can be looked through from time to time instead.
 */
export class FolderWatch {
  readonly #root: string;
  readonly #onTouch: (paths: Set<string>) => void;
  readonly #watchers = new Map<string, FSWatcher>();
  readonly blind = new Set<string>();
  #touched = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(root: string, onTouch: (paths: Set<string>) => void) {
    this.#root = root;
    this.#onTouch = onTouch;
  }

  /** Watches one folder; `''` is the root itself. Watching twice changes nothing. */
  add(folder: string): void {
    if (this.#watchers.has(folder) || this.#closed) return;
    try {
      const watcher = watch(join(this.#root, folder), (_, name) => {
        if (name === null || !name.endsWith('.tmp')) this.#touch(folder, name ?? '');
      });
      watcher.on('error', () => this.drop(folder));
      this.#watchers.set(folder, watcher);
      this.blind.delete(folder);
    } catch {
      this.blind.add(folder);
    }
  }

  drop(folder: string): void {
    this.#watchers.get(folder)?.close();
    this.#watchers.delete(folder);
    this.blind.delete(folder);
  }

  #touch(folder: string, name: string): void {
    this.#touched.add(folder === '' ? name : name === '' ? folder : `${folder}/${name}`);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const touched = this.#touched;
      this.#touched = new Set();
      this.#onTouch(touched);
    }, 50);
    this.#timer.unref();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }
}
