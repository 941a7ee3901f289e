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

export interface Placing {
  temp: string;
  path: string;
}

/** What is asked of the thread; each ask is answered with one entry per file. */
export type FileRequest =
  | { kind: 'draft'; drafts: { folder: string; text: string }[] }
  | { kind: 'place'; moves: Placing[]; folders: string[] }
  | { kind: 'look'; folder: string; files: KnownFile[] };
export type FileAsk = FileRequest & { number: number };

export interface FileAnswer {
  number: number;
  value?: unknown;
  error?: Refusal;
}
