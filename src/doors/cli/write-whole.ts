import { randomUUID } from 'node:crypto';
import { realpath, rename, rm, stat, writeFile } from 'node:fs/promises';

/** Writes a file of the person, all or nothing: a full disk must not cost what was there. */
export async function writeWhole(file: string, bytes: Uint8Array | AsyncIterable<Uint8Array>): Promise<void> {
  const there = await stat(file).catch(() => undefined);
  // Devices and pipes take what comes.
  if (there && !there.isFile()) return writeFile(file, bytes);
  // A link stays one.
  const target = await realpath(file).catch(() => file);
  const temp = `${target}.${randomUUID()}.tmp`;
  try {
    await writeFile(temp, bytes, { mode: there ? there.mode & 0o777 : 0o666 });
    await rename(temp, target);
  } catch (error) {
    await rm(temp, { force: true });
    throw error;
  }
}
