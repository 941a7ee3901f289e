import { realpath } from 'node:fs/promises';
import { argsOf, Failure, fail, offerTool, type BuiltInBundle, type Call } from '../../schema/index.ts';
import { listFolder, maxFileBytes, readFile, statPath, writeFile } from './fs-files.ts';
import { searchFiles, type SearchArgs } from './fs-search.ts';

const maxLines = 5000;

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
