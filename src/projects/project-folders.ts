import { chown, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { sandboxUser } from '../sandbox/index.ts';

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
    /** What is renamed to here is gone for everyone, however long its removal takes. */
    trash: (id: string): string => join(folder, `${trashMark}${id}`),
    async make(row: Placed): Promise<void> {
      await mkdir(ofWorkspace(row), { recursive: true, mode: 0o700 });
      // Whoever works in it later must be able to change what is put in before.
      const { uid, gid } = sandboxUser();
      if (process.getuid?.() === 0) await chown(ofWorkspace(row), uid, gid);
    },
    async emptyTrash(): Promise<void> {
      for (const name of await readdir(folder))
        if (name.startsWith(trashMark)) await rm(join(folder, name), { recursive: true, force: true });
    },
  };
}

/** Files that a server running as root makes for a sandbox belong to whoever owns the workspace. */
export async function giveToOwnerOf(folder: string, path: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = await stat(folder);
  await chown(path, uid, gid);
}
