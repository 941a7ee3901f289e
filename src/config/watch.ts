import { watch, type FSWatcher } from 'node:fs';
import { stat } from 'node:fs/promises';

const settleMs = 100;
const pollMs = 500;

/**
 * Calls `onChange` when one of the files may have changed. Files are watched, not their folder: in the home a database is
 * written all the time, and each write would wake us. A file that is replaced says so, too; one that is new is seen by a
 * poll, which also stands in where the system reports nothing (network drives, containers).
 */
export class FileWatch {
  #watchers: FSWatcher[] = [];
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
    // By now another file may have taken this name.
    this.#unwatch();
    for (const file of this.#files) this.#watch(file);
  }

  /** The file differs from what was read, so this counts as a change. */
  distrust(): void {
    this.#marks = '';
    if (!this.#closed) this.#settle();
  }

  #watch(file: string): void {
    try {
      const watcher = watch(file, { persistent: false }, () => this.#settle());
      watcher.on('error', () => watcher.close());
      this.#watchers.push(watcher);
    } catch {
      // No watch to be had here (no such file yet, limit of the system reached): the poll sees changes all the same.
    }
  }

  #unwatch(): void {
    for (const watcher of this.#watchers) watcher.close();
    this.#watchers = [];
  }

  /** Waits until a burst of events is over: saving in an editor truncates, writes and renames. */
  #settle(): void {
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => void this.#poll(), settleMs).unref();
  }

  async #poll(): Promise<void> {
    const marks = await marksOf(this.#files);
    if (this.#closed || marks === this.#marks) return;
    // Two identical looks mean that writing is done; a file that was just truncated looks like an empty one.
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
    this.#unwatch();
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
