// The other side of `catalog-writes`: argv is folder, folder of drafts, writers, files per writer, bytes. Prints how long it took.
import { open, rename } from 'node:fs/promises';
import { join } from 'node:path';

const [folder, drafts, writers, files, bytes] = process.argv.slice(2) as [string, string, string, string, string];
const text = 'x'.repeat(Number(bytes));
console.log('{}');
const startedAt = performance.now();
await Promise.all(
  Array.from({ length: Number(writers) }, async (_, writer) => {
    for (let n = 0; n < Number(files); n++) {
      const name = `${process.pid}-${writer}-${n}`;
      const draft = join(drafts, `${name}.tmp`);
      const handle = await open(draft, 'wx');
      await handle.writeFile(text);
      await handle.sync();
      await handle.close();
      await rename(draft, join(folder, `${name}.json`));
    }
  }),
);
console.log(JSON.stringify({ seconds: (performance.now() - startedAt) / 1000 }));
