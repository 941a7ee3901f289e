import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { pack } from 'tar-stream';
import type { BasePlan } from './base-plan.ts';

/** The plan as a tar stream, owned by root, for an engine's import. Errors destroy the stream. */
export function packBase(plan: BasePlan): Readable {
  const tar = pack();
  void write(plan, tar).catch((error: Error) => tar.destroy(error));
  return Readable.from(tar);
}

async function write(plan: BasePlan, tar: ReturnType<typeof pack>): Promise<void> {
  const put = (
    header: { name: string; mode: number; type?: 'directory' | 'symlink'; linkname?: string },
    text = '',
  ): Promise<void> =>
    new Promise((resolve, reject) => {
      tar.entry({ uid: 0, gid: 0, mtime: new Date(0), ...header }, text, (error) =>
        error ? reject(error) : resolve(),
      );
    });
  for (const entry of plan.entries) {
    const header = { name: entry.path.slice(1), mode: entry.mode };
    if (entry.kind === 'folder') await put({ ...header, type: 'directory' });
    else if (entry.kind === 'link') await put({ ...header, type: 'symlink', linkname: entry.target });
    else if (entry.kind === 'text') await put(header, entry.text);
    else {
      const file = tar.entry({ ...header, size: entry.size, uid: 0, gid: 0, mtime: new Date(0) });
      await pipeline(createReadStream(entry.source), file);
    }
  }
  tar.finalize();
}
