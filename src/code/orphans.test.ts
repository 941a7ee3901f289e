import { test } from 'node:test';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

const script = `
import { openEngine } from ${JSON.stringify(new URL('./index.ts', import.meta.url).href)};
import { readdirSync, readFileSync } from 'node:fs';
const engine = openEngine({ childPath: ${JSON.stringify(new URL('./child.ts', import.meta.url).pathname)}, limits: () => ({ timeoutMs: 60000, maxMemoryMb: 64, maxCalls: 10 }) });
const world = { call: async () => ({ value: 1 }) };
await engine.run({ code: '1', owner: 'a', world });
void engine.run({ code: 'while True: pass', owner: 'a', world });
setTimeout(() => console.log(readFileSync('/proc/self/task/' + process.pid + '/children', 'utf8').trim()), 200);
`;

const isAlive = async (pid: string): Promise<boolean> => {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return status !== '' && !/\) Z /.test(status);
};

test('a server that is killed leaves no endless program behind', { skip: process.platform !== 'linux' }, async () => {
  const parent = spawn(process.execPath, ['--input-type=module-typescript', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface({ input: parent.stdout }), 'line')) as [string];
  const children = line.split(' ').filter(Boolean);
  assert.ok(children.length > 0);
  parent.kill('SIGKILL');
  await once(parent, 'exit');
  const giveUpAt = Date.now() + 60_000;
  while ((await Promise.all(children.map(isAlive))).includes(true)) {
    assert.ok(Date.now() < giveUpAt, `still there: ${children.join(', ')}`);
    await sleep(50);
  }
});
