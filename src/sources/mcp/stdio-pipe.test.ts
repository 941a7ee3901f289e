import { test } from 'node:test';
import assert from 'node:assert/strict';
import { StdioPipe } from './stdio-pipe.ts';

test('a process that does not read what it is told is ended before that fills the memory', async () => {
  const { PATH = '' } = process.env;
  const plan = { command: process.execPath, args: ['-e', 'setInterval(() => {}, 1000)'], env: { PATH }, cwd: '/' };
  const pipe = new StdioPipe(plan, 4 * 1024 * 1024);
  const noise: string[] = [];
  pipe.onnoise = (line) => noise.push(line);
  const closed = new Promise<void>((resolve) => (pipe.onclose = resolve));
  await pipe.start();
  const text = 'x'.repeat(1024 * 1024);
  let sent = 0;
  const sending = setInterval(() => {
    if (sent++ < 64) pipe.send({ jsonrpc: '2.0', method: 'notifications/x', params: { text } }).catch(() => {});
  }, 1);
  await closed;
  clearInterval(sending);
  assert.ok(sent <= 64, 'it took all');
  assert.match(noise.join('\n'), /left more than 4194304 bytes unread and was ended/);
});
