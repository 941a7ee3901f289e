import { constants, type Stats } from 'node:fs';
import { lstat, open, readdir, readlink, type FileHandle } from 'node:fs/promises';
import { fail } from '../schema/index.ts';

const maxLinks = 20;
const maxDepth = 128;
/** Where the agent, which made the links in it, sees the workspace. */
const insidePath = '/workspace';
const folderFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** A place below a folder: an open handle on its parent, and its name there (undefined for the folder itself). */
export interface Place {
  parent: FileHandle;
  name: string | undefined;
  /** A path that cannot be redirected while the handle is open. */
  path: string;
}

/** Splits a path of a request; throws request.invalid for what no file can be called, file.refused for `..`. */
export function splitPath(path: string): string[] {
  if (path.includes('\0')) throw fail('request.invalid', { reason: 'a path cannot hold a NUL character' });
  if (Buffer.byteLength(path) > 4096) throw fail('request.invalid', { reason: 'the path is longer than 4096 bytes' });
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  for (const part of parts) {
    if (part === '..') throw fail('file.refused', { path });
    if (Buffer.byteLength(part) > 255)
      throw fail('request.invalid', { reason: 'a file name is longer than 255 bytes' });
  }
  return parts;
}

/**
 * Walks from handle to handle, so that an agent that swaps folders for links at the same moment gains nothing.
 * Links are followed by hand and only inside the folder; file.refused for those that lead out, file.not_found
 * where nothing is.
 */
export async function walkTo(
  root: string,
  parts: readonly string[],
  options: { makeParents?: (path: string) => Promise<void> } = {},
): Promise<Place> {
  let names = [...parts];
  for (let links = 0; links <= maxLinks; links++) {
    const found = await walkOnce(root, names, options);
    if (!('redirect' in found)) return found;
    names = found.redirect;
  }
  throw fail('file.refused', { path: parts.join('/') });
}

async function walkOnce(
  root: string,
  names: string[],
  options: { makeParents?: (path: string) => Promise<void> },
): Promise<Place | { redirect: string[] }> {
  let parent = await open(root, folderFlags).catch((error: unknown) => {
    throw named(error, names.join('/') || '/');
  });
  try {
    for (const [index, name] of names.entries()) {
      const path = inFolder(parent, name);
      const target = await linkTarget(path);
      if (target !== undefined) {
        await parent.close();
        return { redirect: [...resolveLink(names.slice(0, index), name, target), ...names.slice(index + 1)] };
      }
      if (index === names.length - 1) return { parent, name, path };
      const next = await openFolder(path, options);
      await parent.close();
      parent = next;
    }
    return { parent, name: undefined, path: `/proc/self/fd/${parent.fd}` };
  } catch (error) {
    await parent.close().catch(() => {});
    throw named(error, names.join('/'));
  }
}

/** The path of an entry as seen through an open handle: the kernel resolves the handle, not the name above it. */
export function inFolder(folder: FileHandle, name: string): string {
  return `/proc/self/fd/${folder.fd}/${name}`;
}

/** A plain file or folder below another, under its relative name; `path` holds while the walk stands on it. */
export interface Below {
  name: string;
  path: string;
  info: Stats;
}

/**
 * Walks a folder by handles, sorted, folders before what is in them. Links, pipes, devices and the unwanted are left
 * out, and so is what lies deeper than any work does: each level costs a handle.
 */
export async function* entriesBelow(
  folder: FileHandle,
  isWanted: (name: string) => boolean = () => true,
  prefix = '',
  depth = 0,
): AsyncGenerator<Below> {
  for (const each of (await readdir(`/proc/self/fd/${folder.fd}`)).sort()) {
    if (!isWanted(each)) continue;
    const path = inFolder(folder, each);
    const info = await lstat(path).catch(() => undefined);
    if (!info?.isDirectory() && !info?.isFile()) continue;
    yield { name: `${prefix}${each}`, path, info };
    if (!info.isDirectory() || depth === maxDepth) continue;
    const inner = await openFolderAt(path).catch(() => undefined);
    if (!inner) continue;
    try {
      yield* entriesBelow(inner, isWanted, `${prefix}${each}/`, depth + 1);
    } finally {
      await inner.close();
    }
  }
}

/** Never through a link. */
export function openFolderAt(path: string | Buffer, moreFlags = 0): Promise<FileHandle> {
  return open(path, folderFlags | moreFlags);
}

async function openFolder(
  path: string,
  options: { makeParents?: (path: string) => Promise<void> },
): Promise<FileHandle> {
  try {
    return await open(path, folderFlags);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || !options.makeParents) throw error;
    await options.makeParents(path);
    return open(path, folderFlags);
  }
}

async function linkTarget(path: string): Promise<string | undefined> {
  try {
    return (await lstat(path)).isSymbolicLink() ? await readlink(path) : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function resolveLink(at: string[], name: string, target: string): string[] {
  const isAbsolute = target.startsWith('/');
  const leadsOut = (): Error => fail('file.refused', { path: `${[...at, name].join('/')} -> ${target}` });
  if (isAbsolute && target !== insidePath && !target.startsWith(`${insidePath}/`)) throw leadsOut();
  const result = isAbsolute ? [] : [...at];
  for (const part of (isAbsolute ? target.slice(insidePath.length) : target).split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') result.push(part);
    else if (result.pop() === undefined) throw leadsOut();
  }
  return result;
}

function named(error: unknown, path: string): unknown {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'ENOENT' || code === 'ENOTDIR') return fail('file.not_found', { ref: path }, { cause: error });
  if (code === 'ELOOP') return fail('file.refused', { path }, { cause: error });
  return error;
}
