import { randomBytes } from 'node:crypto';
import { access, chmod, constants, copyFile, mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BasePlan } from './base-plan.ts';

/**
 * The plan as a folder below `parent`, made at the first request; several processes may ask at once. Answers its
 * path. `anew` makes it again although it is there; running sandboxes keep the old one until they end.
 */
export async function baseFolder(plan: BasePlan, parent: string, anew = false): Promise<string> {
  const folder = join(parent, plan.id);
  if (!anew && (await isThere(folder))) return folder;
  await mkdir(parent, { recursive: true, mode: 0o755 });
  const temp = `${folder}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    await fill(temp, plan);
    if (anew) await rename(folder, `${temp}.old`).catch(() => {});
    await rename(temp, folder);
  } catch (error) {
    await rm(temp, { recursive: true, force: true });
    // Another process was first, with the same content.
    if (!(await isThere(folder))) throw error;
  }
  await rm(`${temp}.old`, { recursive: true, force: true });
  return folder;
}

/** Removes bases of earlier versions that no path in `used` lies in. */
export async function sweepBases(parent: string, used: ReadonlySet<string>): Promise<void> {
  for (const name of await readdir(parent).catch(() => []))
    if (!used.has(join(parent, name))) await rm(join(parent, name), { recursive: true, force: true });
}

async function fill(root: string, plan: BasePlan): Promise<void> {
  await mkdir(root, { recursive: true });
  for (const entry of plan.entries) {
    const path = join(root, entry.path);
    if (entry.kind === 'folder') await mkdir(path, { recursive: true });
    else if (entry.kind === 'text') await writeFile(path, entry.text);
    else if (entry.kind === 'link') await symlink(entry.target, path);
    else await copyFile(entry.source, path, constants.COPYFILE_FICLONE);
    if (entry.kind !== 'link') await chmod(path, entry.mode);
  }
  await chmod(root, 0o755);
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
