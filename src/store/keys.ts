import { hkdfSync, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createFile } from './files.ts';

/** One key per purpose, all derived from one random file of the home, so that every process has the same keys. */
export async function homeKeys(root: string): Promise<(purpose: string) => Buffer> {
  const path = join(root, 'home.key');
  const fresh = randomBytes(32);
  const master = (await createFile(path, fresh)) ? fresh : await readFile(path);
  return (purpose) => Buffer.from(hkdfSync('sha256', master, 'oubliette', purpose, 32));
}
