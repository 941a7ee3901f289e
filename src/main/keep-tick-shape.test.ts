import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

const collections = 20;
const program = `
  import { setImmediate as turn } from 'node:timers/promises';
  const { keepTickShape } = await import(${JSON.stringify(new URL('./keep-tick-shape.ts', import.meta.url).href)});
  if (process.argv[1] === 'kept') keepTickShape();
  for (let n = 0; n < ${collections}; n++) {
    process.nextTick(() => {});
    await turn();
    globalThis.gc();
  }
`;

/** How often V8 made the shape of what lies in the tick queue, by its own record of shapes. */
async function timesMade(how: 'kept' | 'left alone'): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'oub-ticks-'));
  try {
    const record = join(folder, 'v8.log');
    const flags = ['--expose-gc', '--log-maps', '--no-log-maps-details', '--no-logfile-per-isolate'];
    const code = ['--input-type=module', '--eval', program, how];
    await promisify(execFile)(process.execPath, [...flags, `--logfile=${record}`, ...code]);
    const lines = (await readFile(record, 'utf8')).split('\n');
    return lines.filter((line) => line.startsWith('map,Transition,') && line.includes('"trigger_async_id_symbol"'))
      .length;
  } finally {
    await rm(folder, { recursive: true });
  }
}

test('the shape of what lies in the tick queue outlives every collection of garbage', async () => {
  // Once, or twice where garbage was collected before it was kept.
  assert.ok((await timesMade('kept')) <= 2);
  assert.ok((await timesMade('left alone')) >= collections, 'left alone, it is forgotten at every collection');
});
