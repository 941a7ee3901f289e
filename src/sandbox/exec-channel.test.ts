import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { until } from '../../test/kit/until.ts';
import { execSocketName } from '../schema/index.ts';
import { execChannels } from './exec-channel.ts';

test('whatever a sandbox answers where texts and numbers belong, the command has an answer and the server goes on', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'oub-exec-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const channels = execChannels();
  t.after(() => channels.close());
  const odd = { toString: 1 };
  const answered = channels.exec(folder, { command: ['x'], timeoutMs: 60_000, maxBytes: 1000 });
  await until(() => existsSync(join(folder, execSocketName)));
  const inside = createConnection(join(folder, execSocketName));
  t.after(() => inside.destroy());
  createInterface({ input: inside }).on('line', (line) => {
    const { exec } = JSON.parse(line) as { exec: { id: string } };
    for (const id of [odd, null, [exec.id], exec.id])
      inside.write(`${JSON.stringify({ id, exit_code: odd, stdout: odd, stderr: 'said' })}\n`);
  });
  assert.deepEqual(await answered, {
    exit_code: null,
    stdout: '',
    stderr: 'said',
    timed_out: false,
    truncated: false,
  });
});
