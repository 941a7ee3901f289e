import { createHash } from 'node:crypto';
import { readdir, readFile, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject, roundLongIntegers, type ServerConfig } from '../../schema/index.ts';
import { replaceFile } from '../../store/index.ts';
import { changedNames, takeDefinitions, type Definitions } from './definitions.ts';
import type { Link } from './link.ts';

/** What a server said about itself when it was last there. */
export interface About {
  capabilities: Link['capabilities'];
  instructions?: string;
  serverInfo: Link['serverInfo'];
}

interface Remembered extends About {
  config: string;
  tools: unknown[];
  changed: Record<string, string>;
  listedAt: string;
}

const mostPages = 2_000;
const mostTools = 50_000;
const mostCharacters = 64 * 1024 * 1024;

/** A server's tools as last listed, kept on disk so that they are there before the server is. */
export class ToolList {
  // Any word may be the name of a tool: these objects inherit none.
  definitions: Definitions = { byName: new Map(), offered: [], prints: Object.create(null), warnings: [] };
  /** Tools whose definition is not what it was, with the time. */
  changed: Record<string, string> = Object.create(null);
  listedAt: string | undefined;
  readonly #file: string;
  readonly #config: string;
  #saving: Promise<void> = Promise.resolve();
  /** What is on disk came over this connection. */
  #savedFrom: Link | undefined;
  #isStopped = false;

  constructor(folder: string, name: string, config: ServerConfig) {
    this.#file = join(folder, fileOf(name));
    this.#config = hash(JSON.stringify(config));
  }

  /** Reads the list of the last time; undefined when there is none for this configuration. */
  async recall(): Promise<About | undefined> {
    const text = await readFile(this.#file, 'utf8').catch(() => undefined);
    if (text === undefined) return undefined;
    try {
      const known = JSON.parse(text) as Remembered;
      if (known.config !== this.#config || !Array.isArray(known.tools)) return undefined;
      this.definitions = await takeDefinitions(known.tools);
      if (isObject(known.changed)) Object.assign(this.changed, known.changed);
      this.listedAt = known.listedAt;
      const { instructions, capabilities, serverInfo } = known;
      return { instructions, capabilities: capabilities ?? {}, serverInfo: serverInfo ?? {} };
    } catch {
      // A file that cannot be read is as good as none; the next listing replaces it.
      return undefined;
    }
  }

  /** Lists anew; answers whether anything is different, and which definitions are not what they were. */
  async refresh(link: Link, timeoutMs: number): Promise<{ isNew: boolean; changed: string[] }> {
    const { tools, isCut } = await readTools(link, timeoutMs);
    const before = this.definitions.prints;
    const taken = await takeDefinitions(tools);
    if (isCut) taken.warnings.unshift(`its list of tools has no end; only the first ${tools.length} are taken`);
    const at = new Date().toISOString();
    const changed = changedNames(before, taken.prints);
    for (const name of changed) this.changed[name] = at;
    for (const name of Object.keys(this.changed)) if (taken.prints[name] === undefined) delete this.changed[name];
    const isNew = JSON.stringify(before) !== JSON.stringify(taken.prints);
    if (isNew || this.listedAt === undefined) this.listedAt = at;
    this.definitions = taken;
    if (!isNew && this.#savedFrom === link) return { isNew, changed };
    this.#savedFrom = link;
    const { instructions, capabilities, serverInfo } = link;
    const known: Remembered = {
      config: this.#config,
      tools,
      instructions,
      capabilities,
      serverInfo,
      changed: this.changed,
      listedAt: this.listedAt,
    };
    if (!this.#isStopped)
      this.#saving = this.#saving.then(() => replaceFile(this.#file, JSON.stringify(known))).catch(() => {});
    return { isNew, changed };
  }

  /** Remembers nothing more; resolves when what was listed is on disk. */
  stop(): Promise<void> {
    this.#isStopped = true;
    return this.#saving;
  }
}

const hash = (text: string): string => createHash('sha256').update(text).digest('hex');
const fileOf = (server: string): string => `${hash(server).slice(0, 24)}.json`;

/** Removes the lists of servers that are not there any more; a list that is just being written is left alone. */
export async function forgetOthers(folder: string, servers: readonly string[]): Promise<void> {
  const kept = new Set(servers.map(fileOf));
  for (const name of await readdir(folder))
    if (name.endsWith('.json') && !kept.has(name)) await unlink(join(folder, name)).catch(() => {});
}

/** Every page of `tools/list`; a server whose cursors never end is cut off. */
async function readTools(link: Link, timeoutMs: number): Promise<{ tools: unknown[]; isCut: boolean }> {
  const tools: unknown[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  let isCut = false;
  let length = 0;
  do {
    const page = await link.request('tools/list', cursor === undefined ? {} : { cursor }, { timeoutMs });
    if (!Array.isArray(page['tools'])) throw new Error('the answer to tools/list holds no list');
    // Whoever checks values against a schema knows numbers only.
    for (const tool of page['tools'] as unknown[]) tools.push(roundLongIntegers(tool));
    const next: unknown = page['nextCursor'];
    cursor = typeof next === 'string' ? next : undefined;
    if (cursor === undefined) break;
    length += JSON.stringify(page['tools']).length;
    isCut = seen.has(cursor) || seen.size >= mostPages || tools.length > mostTools || length > mostCharacters;
    seen.add(cursor);
  } while (!isCut);
  return { tools, isCut };
}
