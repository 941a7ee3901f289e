/** A file that is written and synced under a temporary name, ready to be placed. */
export interface Draft {
  temp: string;
  mtimeMs: number;
  size: number;
}

/** What the system said when it refused. */
export interface Refusal {
  code: string;
  message: string;
}

/** What is known of a file; without time and size nothing is. */
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

/** How a file stands against what was known of it. */
export type Looked = 'same' | 'gone' | ReadFile;

/** Puts a draft, or a text that is to be drafted first, in its place. */
export interface Placing {
  from: Draft | { folder: string; text: string };
  path: string;
}

/** What a file is now, or false where something was there already. */
export type Placed = { mtimeMs: number; size: number } | false;

/** What is asked of the thread; files and moves are answered one by one. */
export type FileRequest =
  | { kind: 'draft'; drafts: { folder: string; text: string }[] }
  | { kind: 'place'; moves: Placing[] }
  | { kind: 'sync'; folders: string[] }
  | { kind: 'create'; move: Placing; syncFolder: string }
  | { kind: 'look'; folder: string; files: KnownFile[] };
/** Alone: nobody else has asked for anything lately. */
export type FileAsk = FileRequest & { number: number; isAlone: boolean };

export interface FileAnswer {
  number: number;
  value?: unknown;
  error?: Refusal;
}
