import type { Draft, Placed, Refusal } from './new-files.ts';

/** What is known of a file; without time and size, nothing is. */
export interface KnownFile {
  path: string;
  mtimeMs?: number;
  size?: number;
}

/** A file as it is now. */
export interface ReadFile {
  mtimeMs: number;
  size: number;
  text: string;
}

/** A file that is there and cannot be read, and of which nothing was known. */
export interface UnreadFile {
  problem: string;
}

/** How a file compares with what was known of it. */
export type Looked = 'same' | 'gone' | ReadFile | UnreadFile;

/** A folder that several processes write to, and what keeps them apart. */
export interface SharedPlace {
  folder: string;
  /** Where files are written that have no place yet. */
  drafts: string;
  /** Keeps what is placed until the disk has it in its place; see WriteJournal. */
  journalPath: string;
  /** The database where each tells what it is about to change. */
  changesPath: string;
  lockPath: string;
  /** Under which name this process tells. */
  writer: string;
}

/** A new file, and how it was drafted at an earlier try. */
export interface NewFile {
  path: string;
  /** Two that share this name but not its owner exclude each other. */
  name: string;
  owner: string;
  text: string;
  draft?: Draft | undefined;
}

/** How new files fared. Stale: others changed what they depend on; nothing was placed, and what is drafted stays. */
export type Created = { upTo: number; hasOthers: boolean } & (
  { isStale: true; drafts: (Draft | Refusal)[] } | { isStale: false; outcomes: (Placed | Refusal)[] }
);

export type FileRequest =
  | { kind: 'create'; since: number; files: NewFile[] }
  | { kind: 'replace'; path: string; text: string }
  | { kind: 'settle'; paths: readonly string[] }
  | { kind: 'settle-all' }
  | { kind: 'look'; folder: string; files: KnownFile[] };
export type FileAsk = FileRequest & { number: number };
