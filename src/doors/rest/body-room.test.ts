import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  createServer,
  request,
  type ClientRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { BodyRoom } from './body-room.ts';

const kb = 1024;

describe('the room for bodies', () => {
  let server: Server;
  before(async () => {
    server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  after(() => {
    server.close();
    server.closeAllConnections();
  });

  /** A request whose body is still to come, at both ends. */
  const arrive = async (length?: number): Promise<{ sender: ClientRequest; received: IncomingMessage }> => {
    const arriving = once(server, 'request');
    const sender = request({
      port: (server.address() as AddressInfo).port,
      method: 'POST',
      ...(length !== undefined && { headers: { 'content-length': length } }),
    });
    sender.on('error', () => {});
    sender.flushHeaders();
    const [received, response] = (await arriving) as [IncomingMessage, ServerResponse];
    sender.once('close', () => response.destroy());
    return { sender, received };
  };
  const received = (message: IncomingMessage, bytes: number): Promise<void> =>
    new Promise((resolve) => {
      let seen = 0;
      message.on('data', (chunk: Buffer) => {
        seen += chunk.length;
        if (seen >= bytes) resolve();
      });
    });

  it('refuses large bodies when those that are coming in fill it, and takes small ones', async () => {
    const room = new BodyRoom(200 * kb);
    const first = await arrive();
    const holding = room.read(first.received, 1000 * kb);
    const held = received(first.received, 190 * kb);
    first.sender.write(Buffer.alloc(190 * kb));
    await held;

    const second = await arrive();
    const refused = room.read(second.received, 1000 * kb);
    second.sender.end(Buffer.alloc(100 * kb));
    await assert.rejects(refused, { code: 'server.busy' });
    const small = await arrive();
    const taken = room.read(small.received, 1000 * kb);
    small.sender.end(Buffer.alloc(50 * kb, 'x'));
    assert.equal((await taken).length, 50 * kb);

    first.sender.end('end');
    assert.equal((await holding).toString('latin1', 190 * kb), 'end');
    const third = await arrive();
    const again = room.read(third.received, 1000 * kb);
    third.sender.end(Buffer.alloc(150 * kb));
    assert.equal((await again).length, 150 * kb);
    for (const { sender } of [first, second, small, third]) sender.destroy();
  });

  it('gives the room of those who go, stop or send too much back', async () => {
    for (const [code, room, act] of [
      ['request.timeout', new BodyRoom(200 * kb), (sender: ClientRequest) => sender.destroy()],
      ['request.timeout', new BodyRoom(200 * kb, 50), () => {}],
      ['body.too_large', new BodyRoom(200 * kb), (sender: ClientRequest) => sender.write(Buffer.alloc(40 * kb))],
    ] as const) {
      const { sender, received: message } = await arrive();
      const refused = assert.rejects(room.read(message, 180 * kb), { code });
      const some = received(message, 150 * kb);
      sender.write(Buffer.alloc(150 * kb));
      await some;
      act(sender);
      await refused;
      sender.destroy();
      assert.equal(room.usedBytes, 0);
    }
  });

  it('takes as much as the limit allows, and not a byte more', async () => {
    for (const announced of [true, false])
      for (const bytes of [1000, 1001]) {
        const { sender, received: message } = await arrive(announced ? bytes : undefined);
        const read = new BodyRoom(1).read(message, 1000);
        sender.end(Buffer.alloc(bytes));
        if (bytes === 1000) assert.equal((await read).length, bytes);
        else await assert.rejects(read, { code: 'body.too_large' });
        sender.destroy();
      }
  });

  it('reads nothing of a body that announces too much', async () => {
    const { sender, received: message } = await arrive(10_000_000);
    await assert.rejects(new BodyRoom(1).read(message, 1000), { code: 'body.too_large' });
    assert.equal(message.readableFlowing, null);
    sender.destroy();
  });
});
