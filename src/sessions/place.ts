import { randomBytes } from 'node:crypto';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isFolder, removeTree } from '../store/index.ts';
import type { BoxDoor, DoorIdentity } from './ports.ts';

/** The folder of one sandbox: sockets in `m`, spool and agent's home in `s`. Short names: sockets lie below. */
export interface Place {
  name: string;
  mcp: string;
  spool: string;
}

export function placeAt(runFolder: string, name: string): Place {
  return { name, mcp: join(runFolder, name, 'm'), spool: join(runFolder, name, 's') };
}

export async function makePlace(runFolder: string): Promise<Place> {
  const place = placeAt(runFolder, randomBytes(6).toString('hex'));
  await mkdir(place.mcp, { recursive: true, mode: 0o711 });
  await mkdir(place.spool, { recursive: true, mode: 0o700 });
  return place;
}

/** False when the folder is missing, as after restoring a home. */
export async function isPlace({ mcp, spool }: Place): Promise<boolean> {
  return (await isFolder(mcp)) && isFolder(spool);
}

export async function removePlace(runFolder: string, name: string): Promise<void> {
  await removeTree(join(runFolder, name));
}

/** Names of all places on disk, whoever they belong to. */
export async function listPlaces(runFolder: string): Promise<string[]> {
  return (await readdir(runFolder)).filter((name) => /^[0-9a-f]{12}$/.test(name));
}

/** Who speaks through a folder: known at once for a session, at the claim for a slot of the pool. */
export interface Binding extends DoorIdentity {
  bind(sessionId: string): void;
}

export function binding(place: Place, projectId: string, sessionId?: string): Binding {
  let current = sessionId;
  let settle: (id: string) => void = () => {};
  const bound = new Promise<string>((resolve) => (settle = resolve));
  if (sessionId) settle(sessionId);
  return {
    folder: place.mcp,
    projectId,
    sessionId: () => current,
    bound,
    bind(id) {
      current = id;
      settle(id);
    },
  };
}

/** Opens every door in a folder, or none. */
export async function openDoors(
  doors: readonly BoxDoor[],
  identity: DoorIdentity,
): Promise<{ close(): Promise<void> }> {
  const open: { close(): Promise<void> }[] = [];
  const close = async (): Promise<void> => {
    await Promise.allSettled(open.map((each) => each.close()));
  };
  try {
    for (const door of doors) open.push(await door.open(identity));
  } catch (error) {
    await close();
    throw error;
  }
  return { close };
}
