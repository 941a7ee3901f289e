import { open, rename, stat, type FileHandle } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const maxBytes = 16 * 1024 * 1024;
const keptFiles = 5;
const lookAgainMs = 1000;
const gatherMs = 10;
const maxWaitingBytes = 8 * 1024 * 1024;

/**
 * Appends lines to a file without ever holding up who logs; lines that come while one write runs go out together.
 * A file that is full becomes `.1`, that one `.2`, and so on. Several processes may write to the same file.
 */
export class LogFile {
  readonly #path: string;
  readonly #maxBytes: number;
  #waiting: string[] = [];
  #waitingBytes = 0;
  #dropped = 0;
  #writing: Promise<void> | undefined;
  #handle: FileHandle | undefined;
  #lookedAt = 0;

  constructor(path: string, limit = maxBytes) {
    this.#path = path;
    this.#maxBytes = limit;
  }

  write(line: string): void {
    // A slow disk must not let lines pile up in memory.
    if (this.#waitingBytes + line.length > maxWaitingBytes) {
      this.#dropped++;
      return;
    }
    this.#waiting.push(line);
    this.#waitingBytes += line.length;
    this.#writing ??= this.#drain();
  }

  async flush(): Promise<void> {
    while (this.#writing) await this.#writing;
  }

  async close(): Promise<void> {
    // A line may come while the file is being closed.
    do {
      await this.flush();
      await this.#letGo();
    } while (this.#writing);
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      // One write for many lines: under load, a write per line costs more than the call that it logs.
      await sleep(gatherMs);
      if (this.#dropped > 0)
        this.#waiting.push(
          `${JSON.stringify({ time: new Date().toISOString(), level: 'warn', msg: `${this.#dropped} log lines were dropped` })}\n`,
        );
      this.#dropped = 0;
      const text = this.#waiting.join('');
      this.#waiting = [];
      this.#waitingBytes = 0;
      try {
        await (await this.#file()).appendFile(text);
      } catch {
        // There is nowhere left to report this: a full disk costs log lines, never calls.
        await this.#letGo();
      }
    }
    // In the same turn as the last check: a line that comes later starts a new drain.
    this.#writing = undefined;
  }

  async #letGo(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close().catch(() => {});
  }

  /** The open file; opened again when another process has moved it away, moved away when it is full. */
  async #file(): Promise<FileHandle> {
    const now = Date.now();
    if (this.#handle && now - this.#lookedAt < lookAgainMs) return this.#handle;
    this.#lookedAt = now;
    const [mine, current] = await Promise.all([this.#handle?.stat(), stat(this.#path).catch(() => undefined)]);
    const isMoved = mine?.ino !== current?.ino;
    const isFull = (current?.size ?? 0) > this.#maxBytes;
    if (isFull) await this.#rotate();
    if (this.#handle && (isMoved || isFull)) {
      await this.#handle.close();
      this.#handle = undefined;
    }
    return (this.#handle ??= await open(this.#path, 'a', 0o600));
  }

  async #rotate(): Promise<void> {
    for (let number = keptFiles - 1; number >= 0; number--) {
      const from = number === 0 ? this.#path : `${this.#path}.${number}`;
      await rename(from, `${this.#path}.${number + 1}`).catch(() => {});
    }
  }
}
