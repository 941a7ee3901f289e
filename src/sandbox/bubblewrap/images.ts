import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmod,
  copyFile,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, join, normalize } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { extract } from 'tar-stream';
import { fail } from '../../schema/index.ts';
import { readRecipe, type Recipe } from './dockerfile.ts';

const run = promisify(execFile);

export interface FoundImage {
  root: string;
  env: Record<string, string>;
}

/** Root file systems of projects: the base, by hard links, with files on top. */
export interface BwrapImages {
  /** Makes an image or replaces it; fails as readRecipe does. Sandboxes that run keep the old one. */
  build(image: string, context: Readable, base: string): Promise<void>;
  find(image: string): Promise<FoundImage | undefined>;
}

export function bwrapImages(folder: string): BwrapImages {
  const place = (image: string): string => join(folder, encodeURIComponent(image));
  return {
    async build(image, context, base) {
      const temp = join(folder, `.${randomBytes(6).toString('hex')}.tmp`);
      try {
        const files = join(temp, 'context');
        await unpack(context, files);
        const text = await readFile(join(files, 'Dockerfile'), 'utf8').catch(() => undefined);
        if (text === undefined) throw fail('request.invalid', { reason: 'there is no Dockerfile' });
        const recipe = readRecipe(text);
        await run('cp', ['-al', base, join(temp, 'root')]);
        for (const copy of recipe.copies) await carryOut(copy, files, join(temp, 'root'));
        await writeFile(join(temp, 'image.json'), JSON.stringify({ env: recipe.env }));
        await rm(files, { recursive: true });
        await rename(place(image), `${temp}.old`).catch(() => {});
        await rename(temp, place(image));
      } finally {
        await rm(temp, { recursive: true, force: true });
        await rm(`${temp}.old`, { recursive: true, force: true });
      }
    },
    async find(image) {
      const text = await readFile(join(place(image), 'image.json'), 'utf8').catch(() => undefined);
      return text === undefined
        ? undefined
        : { root: join(place(image), 'root'), env: (JSON.parse(text) as FoundImage).env };
    },
  };
}

async function carryOut({ from, to, mode }: Recipe['copies'][number], files: string, root: string): Promise<void> {
  for (const each of from) {
    const source = inside(files, each);
    const entry = await lstat(source).catch(() => undefined);
    if (!entry) throw fail('request.invalid', { reason: `COPY: there is no ${each} beside the Dockerfile` });
    const isInto = !entry.isDirectory() && (to.endsWith('/') || from.length > 1);
    await place(source, inside(root, isInto ? join(to, basename(each)) : to), mode);
  }
}

/** A file that is there is replaced, never written into: it is the base's own. */
async function place(source: string, target: string, mode?: number): Promise<void> {
  const entry = await lstat(source);
  if (entry.isDirectory()) {
    await mkdir(target, { recursive: true });
    for (const name of await readdir(source)) await place(join(source, name), join(target, name), mode);
    return;
  }
  await mkdir(dirname(target), { recursive: true });
  await rm(target, { recursive: true, force: true });
  if (entry.isSymbolicLink()) return symlink(await readlink(source), target);
  await copyFile(source, target);
  await chmod(target, mode ?? (entry.mode & 0o777) | 0o444);
}

/** Links come last, so that nothing is written through them. */
async function unpack(context: Readable, folder: string): Promise<void> {
  const links: { path: string; target: string }[] = [];
  await mkdir(folder, { recursive: true });
  // Nothing may be waited for between here and the loop: entries that nobody listens for are lost.
  const entries = extract();
  context.on('error', (error) => entries.destroy(error));
  context.pipe(entries);
  try {
    for await (const entry of entries) {
      const { name, type, mode, linkname } = entry.header;
      const path = inside(folder, name);
      if (type === 'directory') await mkdir(path, { recursive: true });
      else if (type === 'symlink') links.push({ path, target: linkname ?? '' });
      else if (type === 'file') {
        await mkdir(dirname(path), { recursive: true });
        await writeFile(path, entry as AsyncIterable<Buffer>, { mode: (mode ?? 0o644) & 0o777 });
      }
      entry.resume();
    }
  } catch (error) {
    throw fail(
      'request.invalid',
      { reason: `the files beside the Dockerfile cannot be read: ${(error as Error).message}` },
      { cause: error },
    );
  }
  for (const { path, target } of links) await symlink(target, path);
}

const inside = (root: string, path: string): string => join(root, normalize(`/${path}`));
