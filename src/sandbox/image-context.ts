import { createReadStream } from 'node:fs';
import { lstat, readdir, readFile, readlink } from 'node:fs/promises';
import { join, matchesGlob } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { pack, type Pack } from 'tar-stream';
import { fail } from '../schema/index.ts';

const maxBytes = 4 * 1024 ** 3;

/**
 * A folder with a Dockerfile as the tar stream that an engine builds from, without what `.dockerignore` names. Links
 * are taken as links. Fails with request.invalid when there is no Dockerfile in it.
 */
export async function imageContext(folder: string): Promise<Readable> {
  const hasDockerfile = await lstat(join(folder, 'Dockerfile')).then(
    (entry) => entry.isFile(),
    () => false,
  );
  if (!hasDockerfile) throw fail('request.invalid', { reason: `there is no Dockerfile in ${folder}` });
  const ignored = await ignoredBy(join(folder, '.dockerignore'));
  const tar = pack();
  const state = { bytes: 0 };
  add(tar, folder, '', ignored, state).then(
    () => tar.finalize(),
    (error: Error) => tar.destroy(error),
  );
  return Readable.from(tar);
}

async function add(
  tar: Pack,
  root: string,
  path: string,
  ignored: (path: string) => boolean,
  state: { bytes: number },
): Promise<void> {
  for (const name of (await readdir(join(root, path))).sort()) {
    const inner = path ? `${path}/${name}` : name;
    if (ignored(inner)) continue;
    const source = join(root, inner);
    const entry = await lstat(source);
    const header = { name: inner, mode: entry.mode & 0o7777, mtime: entry.mtime, uid: 0, gid: 0 };
    if (entry.isDirectory()) {
      tar.entry({ ...header, type: 'directory' });
      await add(tar, root, inner, ignored, state);
    } else if (entry.isSymbolicLink()) tar.entry({ ...header, type: 'symlink', linkname: await readlink(source) });
    else if (entry.isFile()) {
      state.bytes += entry.size;
      if (state.bytes > maxBytes) throw new Error(`the folder holds more than ${maxBytes} bytes`);
      await pipeline(createReadStream(source), tar.entry({ ...header, size: entry.size }));
    }
  }
}

async function ignoredBy(file: string): Promise<(path: string) => boolean> {
  const lines = (await readFile(file, 'utf8').catch(() => ''))
    .split('\n')
    .map((line) => line.trim().replace(/^\/|\/$/g, ''));
  const patterns = lines.filter((line) => line && !line.startsWith('#') && !line.startsWith('!'));
  return (path) => patterns.some((pattern) => matchesGlob(path, pattern));
}
