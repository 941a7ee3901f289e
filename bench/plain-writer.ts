// The other side of `catalog-writes`: argv is folder, writers, files per writer, bytes. Prints how long it took.
import { open, rename } from 'node:fs/promises';
import { join } from 'node:path';

const [folder, writers, files, bytes] = process.argv.slice(2) as [string, string, string, string];
const text = 'x'.repeat(Number(bytes));
console.log('{}');
const startedAt = performance.now();
await Promise.all(
  Array.from({ length: Number(writers) }, async (_, writer) => {
    for (let n = 0; n < Number(files); n++) {
      const path = join(folder, `${process.pid}-${writer}-${n}.json`);
      const handle = await open(`${path}.tmp`, 'wx');
      await handle.writeFile(text);
      await handle.sync();
      await handle.close();
      await rename(`${path}.tmp`, path);
    }
  }),
);
console.log(JSON.stringify({ seconds: (performance.now() - startedAt) / 1000 }));
