import { watch, type FSWatcher } from 'node:fs';
import { dirname, join } from 'node:path';

const expectForMs = 5000;

/**
 * Tells which files below a folder of folders were touched, by us or by anyone. Folders that the system cannot watch
 * are `blind`: they must be looked through from time to time instead.
 */
export class FolderWatch {
  readonly #root: string;
  readonly #onTouch: (paths: Set<string>) => void;
  readonly #tellAfterMs: () => number;
  readonly #watchers = new Map<string, FSWatcher>();
  readonly blind = new Set<string>();
  /** Files that are about to appear by our own hand, and until when that is believed. */
  readonly #expected = new Map<string, number>();
  #touched = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  /** All that is touched within `tellAfterMs` is told together. */
  constructor(root: string, onTouch: (paths: Set<string>) => void, tellAfterMs = () => 50) {
    this.#root = root;
    this.#onTouch = onTouch;
    this.#tellAfterMs = tellAfterMs;
  }

  /** Watches one folder; `''` is the root itself. Watching twice changes nothing. */
  add(folder: string): void {
    if (this.#watchers.has(folder) || this.#closed) return;
    try {
      const watcher = watch(join(this.#root, folder), (kind, name) => {
        if (name?.endsWith('.tmp')) return;
        const path = [folder, name].filter(Boolean).join('/');
        if (kind !== 'rename' || !this.#isExpected(path)) this.touch(path);
      });
      watcher.on('error', () => {
        this.drop(folder);
        this.blind.add(folder);
      });
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

  /** Whoever puts a new file in its place says so before: nobody is told then when it appears, only of what comes after. */
  expect(path: string): void {
    if (this.#watchers.has(dirname(path))) this.#expected.set(path, performance.now() + expectForMs);
  }

  #isExpected(path: string): boolean {
    const until = this.#expected.get(path);
    if (until === undefined) return false;
    this.#expected.delete(path);
    return performance.now() < until;
  }

  /** Says that a file must be looked at, as if it had been touched. */
  touch(path: string): void {
    this.#expected.delete(path);
    this.#touched.add(path);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const touched = this.#touched;
      this.#touched = new Set();
      this.#onTouch(touched);
    }, this.#tellAfterMs());
    this.#timer.unref();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }
}
