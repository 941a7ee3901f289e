import { open } from 'node:fs/promises';
import { crc32 } from 'node:zlib';

/** Makes a journal of writes look as if the machine had been started again since; what was lost is up to the test. */
export async function afterPowerCut(journalPath: string): Promise<void> {
  const file = await open(journalPath, 'r+');
  const head = Buffer.alloc(72);
  await file.read(head, 0, 72, 0);
  head.write('00000000-0000-4000-8000-000000000000', 32, 'latin1');
  head.writeUInt32LE(crc32(head.subarray(8, 72)), 4);
  await file.write(head, 0, 72, 0);
  await file.close();
}
