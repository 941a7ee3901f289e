import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import type { Settings } from '../../schema/index.ts';
import { BodyRoom } from './body-room.ts';
import { httpServer } from './server.ts';

test('what is asked while the server stops is refused in the one shape of errors, and is no fault', async () => {
  const faults: unknown[] = [];
  const app = await httpServer({
    settings: () => ({ http: { allowedOrigins: [], maxBodyBytes: 1000 } }) as unknown as Settings,
    version: '1',
    room: new BodyRoom(1000),
    log: { debug() {}, info() {}, warn() {}, error: (...fault: unknown[]) => void faults.push(fault) },
    redact: (text) => text,
  });
  const slow = Promise.withResolvers<string>();
  const stopping = Promise.withResolvers<void>();
  app.get('/slow', () => slow.promise);
  app.addHook('preClose', async () => stopping.resolve());
  await app.listen({ port: 0, host: '127.0.0.1' });
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  const said = text(socket);
  const ask = async (): Promise<void> => {
    socket.write('GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await once(app.server, 'request');
  };
  await ask();
  const closed = app.close();
  await stopping.promise;
  await ask();
  slow.resolve('done');
  const [first, second = ''] = (await said).split(/(?<=done)/);
  assert.match(first!, /^HTTP\/1\.1 200 /);
  assert.match(second, /^HTTP\/1\.1 503 [^]*connection: close\r\n[^]*\r\n\r\n\{"error":\{"code":"server\.stopping"/i);
  assert.deepEqual(faults, []);
  await closed;
});
