import { watch, type FSWatcher } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';

const settleMs = 100;
const pollMs = 1000;

/**
 * Calls `onChange` when one of the files may have changed. Folders are watched, not files, because editors
 * replace files by renaming; a slow poll stands in where the system reports nothing (network drives, containers).
 */
export class FileWatch {
  #watchers = new Map<string, FSWatcher>();
  #files: string[] = [];
  #marks = '';
  #candidate = '';
  #settling: NodeJS.Timeout | undefined;
  #polling: NodeJS.Timeout;
  #closed = false;
  readonly #onChange: () => void;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
    this.#polling = setInterval(() => void this.#poll(), pollMs).unref();
  }

  /** Sets which files are looked at; their present state is taken as known. */
  async look(files: Iterable<string>): Promise<void> {
    this.#files = [...files];
    this.#marks = await marksOf(this.#files);
    if (this.#closed) return;
    const folders = new Set(this.#files.map((file) => dirname(file)));
    for (const [folder, watcher] of this.#watchers) {
      if (folders.has(folder)) continue;
      watcher.close();
      this.#watchers.delete(folder);
    }
    for (const folder of folders) if (!this.#watchers.has(folder)) this.#watch(folder);
  }

  #watch(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, () => this.#settle());
      const drop = (): void => {
        watcher.close();
        this.#watchers.delete(folder);
      };
      watcher.on('error', drop);
      this.#watchers.set(folder, watcher);
    } catch {
      // No watch to be had here (folder gone, limit of the system reached): the poll sees changes all the same.
    }
  }

  /** Waits until a burst of events is over: an editor truncates, writes and renames. */
  #settle(): void {
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => void this.#poll(), settleMs).unref();
  }

  async #poll(): Promise<void> {
    const marks = await marksOf(this.#files);
    if (this.#closed || marks === this.#marks) return;
    // Seen twice alike, it is written to its end: a file that was just truncated looks like an empty one.
    if (marks !== this.#candidate) {
      this.#candidate = marks;
      return this.#settle();
    }
    this.#marks = marks;
    this.#onChange();
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#polling);
    clearTimeout(this.#settling);
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }
}

async function marksOf(files: readonly string[]): Promise<string> {
  const marks = await Promise.all(
    files.map(async (file) => {
      try {
        const info = await stat(file, { bigint: true });
        return `${info.ino}:${info.size}:${info.mtimeNs}:${info.ctimeNs}`;
      } catch {
        return 'none';
      }
    }),
  );
  return marks.join(' ');
}
