import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parseUuid7 } from '../schema/index.ts';
import type { FileThread } from '../store/index.ts';
import type { FolderWatch } from './folder-watch.ts';
import type { Change, FileStamp, StoredRecords } from './stored-records.ts';

/** In bulk: the order is made when all are there. Told: by another process, which put these into the cache. */
export interface Looking {
  inBulk?: boolean;
  told?: { has(path: string): boolean } | undefined;
}

export interface FolderLookOptions {
  folder: string;
  records: StoredRecords;
  files: FileThread;
  watch: FolderWatch;
  /** Takes in the text of a file that is not as it was known. */
  take: (path: string, text: string, stamp: FileStamp, how: Looking) => Change | undefined;
  /** Takes in that a file is there and cannot be read. */
  unread: (path: string, problem: string) => void;
  /** Takes in that a file is gone. */
  forget: (path: string) => Change | undefined;
  tell: (changes: (Change | undefined)[]) => void;
}

const lookAtOnce = 64;

/** Compares the catalog's files with what is known of them, and takes in what differs. */
export class FolderLook {
  readonly #options: FolderLookOptions;

  constructor(options: FolderLookOptions) {
    this.#options = options;
  }

  /** The folders of bundles. */
  async folders(): Promise<string[]> {
    const names = await readdir(this.#options.folder);
    return names.filter((name) => parseUuid7(name) === name);
  }

  /** The files of a bundle's folder, which is watched from now on. */
  async filesOf(folder: string): Promise<string[]> {
    return (await this.#namesIn(folder)).map((name) => `${folder}/${name}`);
  }

  async #namesIn(folder: string): Promise<string[]> {
    this.#options.watch.add(folder);
    const names = await readdir(join(this.#options.folder, folder)).catch(() => []);
    return names.filter((name) => name.endsWith('.json') && !name.startsWith('.'));
  }

  /** The same, few at a time: all paths of a large folder would stay in memory long after they are of use. */
  async *#piecesOf(folder: string): AsyncGenerator<string[]> {
    const names = await this.#namesIn(folder);
    for (let from = 0; from < names.length; from += lookAtOnce) {
      if (from > 0) await nextTurn();
      yield names.slice(from, from + lookAtOnce).map((name) => `${folder}/${name}`);
    }
  }

  /** Files that we know of and that are not among those present. */
  missingIn(folder: string, present: readonly string[]): string[] {
    if (this.#areAllIn(folder, this.#countKnown(present))) return [];
    const there = new Set(present);
    return this.#options.records.pathsOf(folder).filter((path) => !there.has(path));
  }

  /** To count is much less work than to name them all, and nearly always enough. */
  #areAllIn(folder: string, known: number): boolean {
    const { records } = this.#options;
    return known === records.knownIn(folder) && records.corrupt.size === 0;
  }

  #countKnown(paths: readonly string[]): number {
    return paths.filter((path) => this.#options.records.stampOf(path)).length;
  }

  /** Looks at every file: in small steps, behind everything else. */
  async through(isOver: () => boolean): Promise<void> {
    const there = await this.folders();
    for (const folder of new Set([...there, ...this.#options.records.bundleFolders()])) {
      if (isOver()) return;
      await this.atFolder(folder);
    }
  }

  /** Looks at the bundles that came or went: where nobody tells us of them, at every turn. */
  async atRoot(): Promise<void> {
    const { watch, records } = this.#options;
    watch.add('');
    const there = new Set(await this.folders());
    const known = records.bundleFolders();
    for (const folder of there.symmetricDifference(known)) await this.atFolder(folder);
  }

  async atFolder(folder: string): Promise<void> {
    let isEmpty = true;
    let known = 0;
    for await (const paths of this.#piecesOf(folder)) {
      isEmpty = false;
      await this.at(paths);
      known += this.#countKnown(paths);
    }
    if (!this.#areAllIn(folder, known)) await this.at(this.missingIn(folder, await this.filesOf(folder)));
    if (isEmpty) this.#options.watch.drop(folder);
  }

  async at(paths: readonly string[], how: Looking = {}): Promise<void> {
    for (let from = 0; from < paths.length; from += lookAtOnce) {
      if (from > 0) await nextTurn();
      let left = paths.slice(from, from + lookAtOnce);
      while (left.length > 0) left = await this.#atSome(left, how);
    }
  }

  /** Answers those that were changed from here while they were looked at: what was seen of them may be older. */
  async #atSome(paths: readonly string[], how: Looking): Promise<string[]> {
    const { records, files, take, unread, forget, tell } = this.#options;
    const known = paths.map((path) => records.stampOf(path));
    const asked = paths.map((path, at) => ({ path, mtimeMs: known[at]?.mtimeMs, size: known[at]?.size }));
    const looked = await files.look(asked);
    const again: string[] = [];
    const changes: (Change | undefined)[] = [];
    paths.forEach((path, at) => {
      const found = looked[at]!;
      if (records.stampOf(path)?.revision !== known[at]?.revision) again.push(path);
      else if (found === 'gone') {
        if (known[at] || records.corrupt.has(path)) changes.push(forget(path));
      } else if (found === 'same') return;
      else if ('problem' in found) unread(path, found.problem);
      else changes.push(take(path, found.text, found, how));
    });
    tell(changes);
    return again;
  }
}
