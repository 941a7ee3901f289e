import { readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createFile, isFolder, replaceFile } from './files.ts';
import { WriteJournal, type JournalPlace } from './write-journal.ts';

/**
 * Puts back what was acknowledged and did not reach the disk before the system went down; answers which files. Does nothing
 * while the system that they were written on still runs: there no file is missing but by somebody's will. For whoever
 * holds the folder's lock.
 */
export async function recoverWrites(folder: string, journalPath: string): Promise<string[]> {
  const journal = WriteJournal.open(journalPath);
  if (!journal) return [];
  try {
    if (!journal.isWhole) await rm(journalPath, { force: true });
    return journal.isOfAnotherBoot ? await putBack(folder, journal) : [];
  } finally {
    journal.close();
  }
}

async function putBack(folder: string, journal: WriteJournal): Promise<string[]> {
  const start = journal.start()!;
  let next: JournalPlace = start;
  const files = new Map<string, Buffer | undefined>();
  for (const entry of journal.entries()) {
    files.set(entry.path, entry.bytes);
    next = entry.next;
  }
  const restored: string[] = [];
  for (const [path, bytes] of files) if (bytes && (await restore(join(folder, path), bytes))) restored.push(path);
  journal.settle(start, next);
  return restored;
}

/** Leaves alone what somebody else put there since. */
async function restore(path: string, bytes: Buffer): Promise<boolean> {
  if (!(await isFolder(dirname(path)))) return false;
  // Where it cannot be read for another reason, something is there, and that is not for us to replace.
  const found = await readFile(path).catch((error: NodeJS.ErrnoException) =>
    error.code === 'ENOENT' ? undefined : null,
  );
  if (found === undefined) return createFile(path, bytes);
  if (found === null || !isUnfinished(found, bytes)) return false;
  await replaceFile(path, bytes);
  return true;
}

/** What a power cut leaves of a file: its beginning, or zeros in place of some of it. */
function isUnfinished(found: Buffer, whole: Buffer): boolean {
  return (
    found.length <= whole.length && !found.equals(whole) && found.every((byte, at) => byte === 0 || byte === whole[at])
  );
}
