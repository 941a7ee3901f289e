import assert from 'node:assert/strict';
import { access, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../../../test/kit/until.ts';
import { launch } from './launch.ts';

test('a start that takes too long fails, and is ended with all that it began', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'oub-late-'));
  const [program, note] = [join(folder, 'late'), join(folder, 'pid')];
  await writeFile(program, `#!/bin/sh\necho $$ > ${note}\nsleep 300\n`, { mode: 0o700 });
  try {
    const begun = launch({
      spec: {
        id: 'box_late',
        labels: {},
        workspace: folder,
        mcp: folder,
        spool: folder,
        env: {},
        limits: { memoryMb: 64, pids: 16, cpus: 1 },
        level: 'basic',
      },
      root: folder,
      able: {
        probe: { driver: 'bubblewrap', available: true, notes: [], missing: [] },
        program,
        canForbidUserNamespaces: false,
        hasSetpriv: false,
      },
      folder: join(folder, 'box'),
      withinMs: 4000,
    });
    const failed = assert.rejects(begun, /did not start within 4000 ms/);
    await until(async () => Number(await readFile(note, 'utf8').catch(() => '')) > 0);
    const pid = Number(await readFile(note, 'utf8'));
    await failed;
    await until(async () => !(await isAlive(pid)));
    await assert.rejects(access(join(folder, 'box')));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

/** A process that ended and was not yet taken note of is not alive. */
async function isAlive(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return stat !== '' && !/\) Z /.test(stat);
}
