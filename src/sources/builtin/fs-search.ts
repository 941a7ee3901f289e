import { constants } from 'node:fs';
import { lstat, open, readdir } from 'node:fs/promises';
import { fail, safePattern, type SafePattern } from '../../schema/index.ts';
import { openFolderAt, splitPath, walkTo } from '../../store/index.ts';

export interface SearchArgs {
  path: string;
  pattern: string;
  text?: string;
  ignore_case: boolean;
  limit: number;
}

const maxLookedAt = 50_000;
const maxDepth = 64;
const maxTextBytes = 1024 * 1024;
const maxMatches = 20;
const maxLineLength = 300;
const maxMs = 10_000;

interface FoundFile {
  path: string;
  size: number;
  matches?: { line: number; text: string }[];
}

/** Walks the folder, never through a link, until enough was found or looked at. */
export async function searchFiles(root: string, args: SearchArgs, signal: AbortSignal): Promise<object> {
  const walk: Walk = {
    fits: globPattern(args.pattern),
    isNameOnly: !args.pattern.includes('/'),
    args,
    needle: args.ignore_case ? args.text?.toLowerCase() : args.text,
    files: [],
    lookedAt: 0,
    isCut: false,
    stopAt: performance.now() + maxMs,
    signal,
  };
  const parts = splitPath(args.path);
  const start = await walkTo(root, parts);
  try {
    if (start.name === undefined) await lookInto(`/proc/self/fd/${start.parent.fd}`, parts.join('/'), 0, walk);
    else {
      const folder = await openFolderAt(start.path);
      try {
        await lookInto(`/proc/self/fd/${folder.fd}`, parts.join('/'), 0, walk);
      } finally {
        await folder.close();
      }
    }
  } finally {
    await start.parent.close();
  }
  return { files: walk.files, looked_at: walk.lookedAt, truncated: walk.isCut };
}

interface Walk {
  fits: SafePattern;
  isNameOnly: boolean;
  args: SearchArgs;
  needle: string | undefined;
  files: FoundFile[];
  lookedAt: number;
  isCut: boolean;
  stopAt: number;
  signal: AbortSignal;
}

async function lookInto(folder: string, shown: string, depth: number, walk: Walk): Promise<void> {
  for (const name of (await readdir(folder)).sort()) {
    if (walk.files.length >= walk.args.limit || walk.lookedAt >= maxLookedAt || performance.now() > walk.stopAt)
      walk.isCut = true;
    if (walk.isCut) return;
    walk.signal.throwIfAborted();
    walk.lookedAt++;
    const path = shown === '' ? name : `${shown}/${name}`;
    await lookAt(`${folder}/${name}`, path, name, depth, walk);
  }
}

async function lookAt(place: string, path: string, name: string, depth: number, walk: Walk): Promise<void> {
  const info = await lstat(place).catch(() => undefined);
  if (info?.isDirectory()) {
    if (depth >= maxDepth) return;
    const inner = await openFolderAt(place).catch(() => undefined);
    try {
      if (inner) await lookInto(`/proc/self/fd/${inner.fd}`, path, depth + 1, walk);
    } finally {
      await inner?.close();
    }
    return;
  }
  if (!info?.isFile() || !walk.fits.test(walk.isNameOnly ? name : path)) return;
  if (walk.needle === undefined) {
    walk.files.push({ path, size: info.size });
    return;
  }
  const matches = info.size > maxTextBytes ? [] : await linesWith(place, walk.needle, walk.args.ignore_case);
  if (matches.length > 0) walk.files.push({ path, size: info.size, matches });
}

async function linesWith(
  place: string,
  needle: string,
  ignoreCase: boolean,
): Promise<{ line: number; text: string }[]> {
  const handle = await open(place, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    () => undefined,
  );
  if (!handle) return [];
  try {
    const bytes = Buffer.alloc(maxTextBytes);
    const { bytesRead } = await handle.read(bytes, 0, maxTextBytes, 0);
    const text = bytes.toString('utf8', 0, bytesRead);
    const searched = ignoreCase ? text.toLowerCase() : text;
    if (!searched.includes(needle) || text.includes('\0')) return [];
    const lines = text.split('\n');
    const found: { line: number; text: string }[] = [];
    lines.forEach((line, index) => {
      const isHit = (ignoreCase ? line.toLowerCase() : line).includes(needle);
      if (isHit && found.length < maxMatches) found.push({ line: index + 1, text: line.slice(0, maxLineLength) });
    });
    return found;
  } catch {
    return [];
  } finally {
    await handle.close();
  }
}

const wildcards: Partial<Record<string, string>> = { '**/': '(?:.*/)?', '**': '.*', '*': '[^/]*', '?': '[^/]' };

/** `*` and `?` inside a name, `**` across folders; run by the linear-time engine. */
function globPattern(glob: string): SafePattern {
  const text = glob.replaceAll(
    /\*\*\/|\*\*|\*|\?|[^*?]+/g,
    (part) => wildcards[part] ?? part.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'),
  );
  const compiled = safePattern(`^${text}$`);
  if (!compiled)
    throw fail('tool.failed', { reason: `${JSON.stringify(glob)} is no usable pattern. Use *, ** and ?.` });
  return compiled;
}
