import { createHash, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTwoFilesPatch } from 'diff';
import { entriesBelow, openFolderAt } from '../store/index.ts';

const maxFiles = 5000;
const maxEntries = 20_000;
const maxFileBytes = 512 * 1024;
const maxKeptBytes = 32 * 1024 * 1024;
const maxDiffBytes = 2 * 1024 * 1024;
/** Comparing two texts without a common line could take for ever. */
const maxEdits = 2000;
/** Files that nobody wants to see in a diff. */
const skipped = new Set(['.git', 'node_modules', '.attachments']);

interface Snapshot {
  at: string;
  /** By name: hash of the content, and whether the content itself was kept. */
  files: Record<string, { sha256: string; isKept: boolean }>;
  isPartial: boolean;
}

export interface WorkspaceDiff {
  /** When the snapshot was taken; null when there is none. */
  since: string | null;
  files: { path: string; change: 'added' | 'changed' | 'removed' }[];
  diff: string;
  /** True when the workspace is too large to have been looked at whole. */
  truncated: boolean;
}

/** Remembers what a workspace looks like before an agent begins; bounded in files and bytes. */
export async function takeSnapshot(root: string, store: string): Promise<void> {
  const temp = `${store}.${randomBytes(6).toString('hex')}.tmp`;
  await mkdir(temp, { recursive: true, mode: 0o700 });
  try {
    await rememberIn(temp, root);
    await rm(store, { recursive: true, force: true });
    // If somebody else takes the snapshot at the same moment, theirs is just as good.
    await rename(temp, store).catch(() => {});
  } finally {
    await rm(temp, { recursive: true, force: true });
  }
}

async function rememberIn(temp: string, root: string): Promise<void> {
  const snapshot: Snapshot = { at: new Date().toISOString(), files: {}, isPartial: false };
  let kept = 0;
  for await (const file of filesOf(root)) {
    if (file === 'too many') {
      snapshot.isPartial = true;
      break;
    }
    const isKept = file.bytes !== undefined && kept + file.bytes.length <= maxKeptBytes;
    if (isKept && file.bytes) {
      kept += file.bytes.length;
      await writeFile(join(temp, file.sha256), file.bytes);
    }
    snapshot.files[file.name] = { sha256: file.sha256, isKept };
  }
  await writeFile(join(temp, 'snapshot.json'), JSON.stringify(snapshot));
}

/** What changed in a workspace since its snapshot, as a list and as one unified diff. */
export async function diffSince(root: string, store: string): Promise<WorkspaceDiff> {
  const snapshot = await readFile(join(store, 'snapshot.json'), 'utf8').then(
    (text) => JSON.parse(text) as Snapshot,
    () => undefined,
  );
  if (!snapshot) return { since: null, files: [], diff: '', truncated: false };
  const result: WorkspaceDiff = { since: snapshot.at, files: [], diff: '', truncated: snapshot.isPartial };
  const gone = new Map(Object.entries(snapshot.files));
  const before = async (name: string): Promise<Buffer | undefined> => {
    const known = snapshot.files[name];
    return known?.isKept ? readFile(join(store, known.sha256)) : undefined;
  };
  for await (const file of filesOf(root)) {
    if (file === 'too many') {
      result.truncated = true;
      gone.clear();
      break;
    }
    const known = gone.get(file.name);
    gone.delete(file.name);
    if (known?.sha256 === file.sha256) continue;
    result.files.push({ path: file.name, change: known ? 'changed' : 'added' });
    addPatch(result, file.name, known ? await before(file.name) : Buffer.alloc(0), file.bytes, !known);
  }
  for (const name of gone.keys()) {
    result.files.push({ path: name, change: 'removed' });
    addPatch(result, name, await before(name), Buffer.alloc(0), false);
  }
  return result;
}

function addPatch(
  result: WorkspaceDiff,
  name: string,
  before: Buffer | undefined,
  after: Buffer | undefined,
  isNew: boolean,
): void {
  if (result.diff.length > maxDiffBytes) return void (result.truncated = true);
  const isText = before !== undefined && after !== undefined && !before.includes(0) && !after.includes(0);
  const options = { maxEditLength: maxEdits, headerOptions: undefined };
  const patch = isText
    ? createTwoFilesPatch(
        isNew ? '/dev/null' : `a/${name}`,
        after.length === 0 && !isNew ? '/dev/null' : `b/${name}`,
        before.toString('utf8'),
        after.toString('utf8'),
        '',
        '',
        options,
      )
    : undefined;
  result.diff += patch ?? `Files a/${name} and b/${name} differ\n`;
}

type Seen = { name: string; sha256: string; bytes: Buffer | undefined };

async function* filesOf(root: string): AsyncGenerator<Seen | 'too many'> {
  const folder = await openFolderAt(root);
  let entries = 0;
  let count = 0;
  let bytes = 0;
  try {
    for await (const { name, path, info } of entriesBelow(folder, (each) => !skipped.has(each))) {
      if (++entries > maxEntries) return yield 'too many';
      if (!info.isFile()) continue;
      bytes += Math.min(info.size, maxFileBytes);
      if (++count > maxFiles || bytes > maxKeptBytes) return yield 'too many';
      const seen = await look(name, path);
      if (seen) yield seen;
    }
  } finally {
    await folder.close();
  }
}

/** Large files are told apart by size and time alone. */
async function look(name: string, path: string): Promise<Seen | undefined> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    () => undefined,
  );
  if (!handle) return undefined;
  try {
    const info = await handle.stat();
    if (info.size > maxFileBytes)
      return {
        name,
        sha256: createHash('sha256').update(`${info.size} ${info.mtimeMs}`).digest('hex'),
        bytes: undefined,
      };
    const bytes = await handle.readFile();
    return { name, sha256: createHash('sha256').update(bytes).digest('hex'), bytes };
  } finally {
    await handle.close();
  }
}
