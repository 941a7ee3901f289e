import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { testServer } from '../kit/server.ts';
import { until } from '../kit/until.ts';

test('a server that stops lets readers have what was written for them, and does not wait for those who do not read', async () => {
  const server = await testServer();
  const call = async (name: string, args: object): Promise<any> => (await server.call(name, { ...args })).value;
  const project = await call('project_create', { name: 'words' });
  const { session_id } = await call('session_spawn', { project_id: project.id, message: '1' });
  // More than the system's own buffers take, so that words lie unsent in ours.
  let last = 1;
  for (let i = 0; i < 12; i++)
    last = (await call('session_message', { session_id, message: `1 # ${'x'.repeat(1_000_000)}` })).turn;
  await until(async () => (await call('session_get', { session_id })).turn === last);
  const url = `${server.url}/sessions/${session_id}/events`;
  const open = async (): Promise<IncomingMessage> => {
    const asked = request(url, { headers: { authorization: `Bearer ${server.token}` }, agent: false });
    const [answer] = (await once(asked.end(), 'response')) as [IncomingMessage];
    return answer.pause();
  };
  const [late, never, idle] = [await open(), await open(), await open()];
  never.on('error', () => {});
  await call('session_end', { session_id });
  let seen = '';
  idle.setEncoding('utf8').on('data', (piece: string) => (seen = (seen + piece).slice(-1000)));
  idle.resume();
  await until(() => seen.includes('"status":"ended"'));
  const closed = server.close();
  // It has read all, so it ends as soon as the server lets go of its streams.
  await once(idle, 'end');
  let text = '';
  late
    .setEncoding('utf8')
    .on('data', (piece: string) => (text += piece))
    .resume();
  await once(late, 'end');
  assert.match(text.slice(-100), /\n\n$/, 'its last frame is whole');
  await closed;
  never.resume();
  await assert.rejects(once(never, 'end'), /aborted/);
  await server.remove();
});
