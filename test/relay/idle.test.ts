import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { rawRelay } from '../kit/relay-socket.ts';
import { testServer } from '../kit/server.ts';
import { turn, value } from '../kit/session.ts';
import { until } from '../kit/until.ts';

const idleMs = 6000;

test('a session whose agent uses its socket is not idle, and is when it does not', async () => {
  const server = await testServer({ config: `limits: { idleMinutes: ${idleMs / 60_000} }\n` });
  try {
    const project = await value(server, 'project_create', { name: 'idle' });
    const { sessionId } = await turn(server, { project_id: project.id, message: '1' });
    const shown = () => value(server, 'session_get', { session_id: sessionId });
    const relay = await rawRelay((await shown()).relay_socket);
    const quietSince = performance.now();
    while (performance.now() - quietSince < 1.5 * idleMs) {
      relay.send(`${JSON.stringify({ method: 'session_events', params: {} })}\n`);
      await sleep(100);
    }
    assert.equal((await shown()).status, 'idle');
    relay.close();
    await until(async () => (await shown()).status === 'timed_out');
  } finally {
    await server.remove();
  }
});
