import { constants } from 'node:fs';
import { lstat, open, readdir, realpath, rename, unlink, type FileHandle } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { argsOf, Failure, fail, offerTool, type BuiltInBundle, type Call } from '../../schema/index.ts';
import { inFolder, openFolderAt, splitPath, walkTo, type Place } from '../../store/index.ts';
import { searchFiles, type SearchArgs } from './fs-search.ts';

const maxFileBytes = 8 * 1024 * 1024;
const maxLines = 5000;
const readFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Where the files of a caller lie: its workspace for a session, the configured folder otherwise. Undefined when there is none. */
export type RootFor = (call: Call) => Promise<string | undefined>;

const path = <const D extends { default?: string }>(what: string, fallback: D) =>
  ({
    type: 'string',
    maxLength: 4096,
    ...fallback,
    description: `${what} Relative to the root; .. and links that lead out are refused.`,
  }) as const;
const limit = (most: number, fallback: number, what: string) =>
  ({ type: 'integer', minimum: 1, maximum: most, default: fallback, description: what }) as const;

/** `fs`: files below one folder, and nothing else. */
export function fsTools(rootFor: RootFor): BuiltInBundle {
  const inRoot =
    <T>(run: (root: string, args: T, signal: AbortSignal) => Promise<unknown>) =>
    async (args: T, call: Call): Promise<unknown> => {
      const configured = await rootFor(call);
      if (configured === undefined)
        throw fail('tool.failed', {
          reason: 'No folder is set for files. Add to config.yaml: fs: { root: /path/to/folder }',
        });
      const root = await realpath(configured).catch(() => {
        throw fail('tool.failed', {
          reason: 'The folder that is set for files does not exist. Make it, or change fs.root in config.yaml.',
        });
      });
      try {
        return await run(root, args, call.signal);
      } catch (error) {
        throw inWords(error);
      }
    };
  return {
    slug: 'fs',
    displayName: 'Files',
    description: 'Read, list and search files below one folder.',
    tools: [
      offerTool({
        slug: 'readfile',
        description: 'Reads a text file, or a part of it by lines. Other files can be read as base64.',
        level: 'read',
        argSchema: argsOf(
          {
            path: path('The file.', {}),
            offset: { type: 'integer', minimum: 1, default: 1, description: 'First line to answer, counted from 1.' },
            limit: limit(maxLines, 2000, 'At most this many lines.'),
            encoding: {
              type: 'string',
              enum: ['text', 'base64'],
              default: 'text',
              description: 'base64 answers the whole file as it is.',
            },
          },
          ['path'],
        ),
        returns: '{path, size, text, total_lines, offset, returned, has_more} or {path, size, base64}',
        example: 'fs.readfile(path="notes.txt")',
        run: inRoot(readFile),
      }),
      offerTool({
        slug: 'listdir',
        description: 'Lists a folder: names, kinds, sizes and times.',
        level: 'read',
        argSchema: argsOf(
          { path: path('The folder.', { default: '.' }), limit: limit(5000, 1000, 'At most this many entries.') },
          [],
        ),
        returns: '{path, entries: [{name, type, size, modified_at}], truncated}',
        example: 'fs.listdir(path=".")',
        run: inRoot(listFolder),
      }),
      offerTool({
        slug: 'searchfiles',
        description:
          'Finds files below a folder by a pattern of their path (*, **, ?) and, if text is given, by a text in them.',
        level: 'read',
        argSchema: argsOf(
          {
            path: path('The folder to start in.', { default: '.' }),
            pattern: {
              type: 'string',
              minLength: 1,
              maxLength: 500,
              default: '**',
              description: 'Which files: *.md looks at names, src/**/*.ts at paths.',
            },
            text: {
              type: 'string',
              minLength: 1,
              maxLength: 1000,
              description: 'A text that the file must hold; lines that hold it are answered.',
            },
            ignore_case: {
              type: 'boolean',
              default: true,
              description: 'Treat upper and lower case of the text as the same.',
            },
            limit: limit(1000, 100, 'At most this many files.'),
          },
          [],
        ),
        returns: '{files: [{path, size, matches?: [{line, text}]}], looked_at, truncated}',
        example: 'fs.searchfiles(pattern="*.md", text="budget")',
        run: inRoot((root, args: SearchArgs, signal) => searchFiles(root, args, signal)),
      }),
      offerTool({
        slug: 'statpath',
        description: 'Says what is at a path: a file, a folder, a link, or nothing.',
        level: 'read',
        argSchema: argsOf({ path: path('The file or folder.', {}) }, ['path']),
        returns: '{path, exists, type?, size?, modified_at?, mode?}',
        example: 'fs.statpath(path="notes.txt")',
        run: inRoot(statPath),
      }),
      offerTool({
        slug: 'writefile',
        description:
          'Writes a text file: a new one, or with mode="replace" or "append" also one that is there. Shipped switched off.',
        level: 'write',
        isEnabled: false,
        argSchema: argsOf(
          {
            path: path('The file. Its folder must be there.', {}),
            text: { type: 'string', maxLength: maxFileBytes, description: 'What to write.' },
            mode: {
              type: 'string',
              enum: ['create', 'replace', 'append'],
              default: 'create',
              description: 'create refuses a file that is there.',
            },
          },
          ['path', 'text'],
        ),
        returns: '{path, size}',
        example: 'fs.writefile(path="notes.txt", text="hello")',
        run: inRoot(writeFile),
      }),
    ],
  };
}

/** Opens a place, hands it over, and closes it whatever happens. */
async function at<T>(root: string, shown: string, use: (place: Place) => Promise<T>): Promise<T> {
  const place = await walkTo(root, splitPath(shown));
  try {
    return await use(place);
  } finally {
    await place.parent.close();
  }
}

async function readFile(
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

async function listFolder(root: string, args: { path: string; limit: number }): Promise<object> {
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
  return info && { name, type: typeOf(info), size: info.size, modified_at: info.mtime.toISOString() };
}

interface Kind {
  isFile(): boolean;
  isDirectory(): boolean;
  isSymbolicLink(): boolean;
}
const typeOf = (info: Kind): string =>
  info.isFile() ? 'file' : info.isDirectory() ? 'folder' : info.isSymbolicLink() ? 'link' : 'other';

async function statPath(root: string, args: { path: string }): Promise<object> {
  try {
    return await at(root, args.path, async (place) => {
      const info = place.name === undefined ? await place.parent.stat() : await lstat(place.path);
      const mode = (info.mode & 0o777).toString(8).padStart(3, '0');
      return {
        path: args.path,
        exists: true,
        type: typeOf(info),
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

async function writeFile(
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

const reasons: Record<string, string> = {
  ENOENT: 'There is no such file or folder. Look with fs.listdir.',
  ENOTDIR: 'A part of the path is a file, not a folder.',
  EISDIR: 'This is a folder.',
  EEXIST: 'The file is there already. Use mode="replace" or mode="append".',
  EACCES: 'The server may not open this.',
  EPERM: 'The server may not do this.',
  ELOOP: 'A link stands in the way. Name the file itself.',
  ENXIO: 'This is no regular file.',
  ENOSPC: 'The disk is full.',
};

/** What went wrong with a file is told to whoever asked, without a path of the machine. */
function inWords(error: unknown): unknown {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  if (error instanceof Failure)
    return error.code.startsWith('file.') || error.code === 'request.invalid'
      ? fail('tool.failed', { reason: error.message })
      : error;
  return reasons[code] === undefined ? error : fail('tool.failed', { reason: reasons[code] }, { cause: error });
}
