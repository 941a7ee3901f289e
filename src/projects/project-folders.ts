import { chown, lchown, mkdir, readdir, stat, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { sandboxUser } from '../sandbox/index.ts';
import { removeTree } from '../store/index.ts';

const trashMark = '.deleted-';

/** A workspace, as far as its place is concerned. */
export interface Placed {
  id: string;
  project_id: string;
}

/** Where the files of projects lie below one folder. */
export function projectFolders(folder: string) {
  const ofWorkspace = (row: Placed): string => join(folder, row.project_id, 'workspaces', row.id);
  return {
    ofWorkspace,
    ofProject: (id: string): string => join(folder, id),
    snapshot: (row: Placed): string => join(folder, row.project_id, 'snapshots', row.id),
    /** Whatever is moved here is gone for everyone, however long its removal takes. */
    trash: (id: string): string => join(folder, `${trashMark}${id}`),
    async make(row: Placed): Promise<void> {
      await mkdir(ofWorkspace(row), { recursive: true, mode: 0o700 });
      // Whoever works in it later must be able to change what is put in before.
      const { uid, gid } = sandboxUser();
      if (process.getuid?.() === 0) await chown(ofWorkspace(row), uid, gid);
    },
    /** Answers why some of it could not be removed. */
    async emptyTrash(): Promise<unknown[]> {
      const problems: unknown[] = [];
      for (const name of await readdir(folder))
        if (name.startsWith(trashMark))
          await removeTree(join(folder, name)).catch((error: unknown) => problems.push(error));
      return problems;
    },
  };
}

/**
 * Files that a server running as root makes for a sandbox belong to whoever owns the workspace. What is there by a name
 * may have been swapped for a link by then: it is not followed.
 */
export async function giveToOwnerOf(folder: string, made: string | FileHandle): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = await stat(folder);
  if (typeof made === 'string') await lchown(made, uid, gid);
  else await made.chown(uid, gid);
}
