import { constants } from 'node:fs';
import { lstat, open, readdir, rename, unlink, type FileHandle } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { Failure, fail } from '../../schema/index.ts';
import { entryType, inFolder, openFolderAt, splitPath, walkTo, type Place } from '../../store/index.ts';

/** More is neither read nor written. */
export const maxFileBytes = 8 * 1024 * 1024;
const readFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Opens a place, hands it over, and closes it whatever happens. */
async function at<T>(root: string, shown: string, use: (place: Place) => Promise<T>): Promise<T> {
  const place = await walkTo(root, splitPath(shown));
  try {
    return await use(place);
  } finally {
    await place.parent.close();
  }
}

/** A text by lines, or any file as base64. Fails with tool.failed for what is neither, or too large. */
export async function readFile(
  root: string,
  args: { path: string; offset: number; limit: number; encoding: 'text' | 'base64' },
): Promise<object> {
  const bytes = await at(root, args.path, (place) => readWhole(place, args.path));
  const about = { path: args.path, size: bytes.length };
  if (args.encoding === 'base64') return { ...about, base64: bytes.toString('base64') };
  if (bytes.includes(0))
    throw fail('tool.failed', { reason: `${args.path} is no text file. Read it with encoding="base64".` });
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw fail(
      'tool.failed',
      { reason: `${args.path} is no UTF-8 text. Read it with encoding="base64".` },
      { cause: error },
    );
  }
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  const chosen = lines.slice(args.offset - 1, args.offset - 1 + args.limit);
  const isWhole = chosen.length === lines.length;
  return {
    ...about,
    text: isWhole ? text : chosen.join('\n'),
    total_lines: lines.length,
    offset: args.offset,
    returned: chosen.length,
    has_more: args.offset - 1 + chosen.length < lines.length,
  };
}

async function readWhole(place: Place, shown: string): Promise<Buffer> {
  if (place.name === undefined)
    throw fail('tool.failed', { reason: `${shown || '.'} is a folder. List it with fs.listdir.` });
  const handle = await open(place.path, readFlags);
  try {
    const info = await handle.stat();
    if (info.isDirectory()) throw fail('tool.failed', { reason: `${shown} is a folder. List it with fs.listdir.` });
    if (!info.isFile()) throw fail('tool.failed', { reason: `${shown} is no regular file.` });
    if (info.size > maxFileBytes)
      throw fail('tool.failed', { reason: `${shown} has ${info.size} bytes, at most ${maxFileBytes} are read.` });
    // Not readFile: what grows meanwhile, or lies about its size, is cut.
    const bytes = Buffer.alloc(info.size || 65_536);
    let filled = 0;
    for (let got = 1; got > 0 && filled < bytes.length; filled += got)
      got = (await handle.read(bytes, filled, bytes.length - filled)).bytesRead;
    return bytes.subarray(0, filled);
  } finally {
    await handle.close();
  }
}

/** What is in a folder, by name; what vanishes meanwhile is left out. */
export async function listFolder(root: string, args: { path: string; limit: number }): Promise<object> {
  return at(root, args.path, async (place) => {
    const folder = place.name === undefined ? place.parent : await openFolderAt(place.path);
    try {
      const names = (await readdir(`/proc/self/fd/${folder.fd}`)).sort();
      const entries = await Promise.all(names.slice(0, args.limit).map((name) => entryOf(folder, name)));
      return {
        path: args.path,
        entries: entries.filter((entry) => entry !== undefined),
        truncated: names.length > args.limit,
      };
    } finally {
      if (folder !== place.parent) await folder.close();
    }
  });
}

async function entryOf(folder: FileHandle, name: string): Promise<object | undefined> {
  const info = await lstat(inFolder(folder, name)).catch(() => undefined);
  return info && { name, type: entryType(info), size: info.size, modified_at: info.mtime.toISOString() };
}

/** What is at a path; nothing is an answer, not a failure. */
export async function statPath(root: string, args: { path: string }): Promise<object> {
  try {
    return await at(root, args.path, async (place) => {
      const info = place.name === undefined ? await place.parent.stat() : await lstat(place.path);
      const mode = (info.mode & 0o777).toString(8).padStart(3, '0');
      return {
        path: args.path,
        exists: true,
        type: entryType(info),
        size: info.size,
        modified_at: info.mtime.toISOString(),
        mode,
      };
    });
  } catch (error) {
    if (isMissing(error)) return { path: args.path, exists: false };
    throw error;
  }
}

/** Writes a text as `mode` says; `replace` puts a whole new file in its place. */
export async function writeFile(
  root: string,
  args: { path: string; text: string; mode: 'create' | 'replace' | 'append' },
): Promise<object> {
  const bytes = Buffer.from(args.text);
  return at(root, args.path, async (place) => {
    if (place.name === undefined) throw fail('tool.failed', { reason: `${args.path} is a folder.` });
    if (args.mode === 'replace') {
      const temp = inFolder(place.parent, `.${randomBytes(9).toString('hex')}.tmp`);
      try {
        await writeTo(temp, bytes, constants.O_CREAT | constants.O_EXCL);
        await rename(temp, place.path);
      } catch (error) {
        await unlink(temp).catch(() => {});
        throw error;
      }
    } else
      await writeTo(
        place.path,
        bytes,
        args.mode === 'create' ? constants.O_CREAT | constants.O_EXCL : constants.O_CREAT | constants.O_APPEND,
      );
    return { path: args.path, size: (await lstat(place.path)).size };
  });
}

async function writeTo(target: string, bytes: Buffer, flags: number): Promise<void> {
  const handle = await open(target, flags | constants.O_WRONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK, 0o644);
  try {
    if (!(await handle.stat()).isFile()) throw fail('tool.failed', { reason: 'Only regular files can be written.' });
    await handle.writeFile(bytes);
  } finally {
    await handle.close();
  }
}

const isMissing = (error: unknown): boolean =>
  (error instanceof Failure && error.code === 'file.not_found') ||
  (error as NodeJS.ErrnoException).code === 'ENOENT' ||
  (error as NodeJS.ErrnoException).code === 'ENOTDIR';
