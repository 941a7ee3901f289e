import { unlink } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { fail, isObject } from '../schema/index.ts';
import { lineSplitter } from './inside/line-splitter.ts';

const maxConnections = 8;
const maxUnsentBytes = 64 * 1024 * 1024;
/** What fits into `sun_path`, with its closing zero. */
const maxSocketPath = 107;

export interface InsideListener {
  close(): Promise<void>;
}

/**
 * Listens on a socket that is mounted into a sandbox: JSON objects, one per line. Whoever connects is as little
 * trusted as the sandbox: lines are bounded, garbage is ignored, the oldest of too many connections is closed.
 */
export async function listenInside(
  path: string,
  on: {
    onMessage(message: Record<string, unknown>, socket: Socket): void;
    onClose(socket: Socket): void;
    onOpen?(socket: Socket): void;
  },
  maxLineBytes = 64 * 1024,
): Promise<InsideListener> {
  if (Buffer.byteLength(path) > maxSocketPath)
    throw fail('sandbox.failed', {
      reason: `the socket path ${path} is longer than ${maxSocketPath} bytes; use a shorter OUBLIETTE_HOME`,
    });
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    if (sockets.size > maxConnections) sockets.values().next().value?.destroy();
    const lines = lineSplitter(
      maxLineBytes,
      (line) => {
        const message = parse(line);
        if (message) on.onMessage(message, socket);
        if (socket.writableLength > maxUnsentBytes) socket.destroy();
      },
      () => socket.destroy(),
    );
    socket.on('data', (chunk: Buffer) => lines.push(chunk));
    socket.on('error', () => {});
    socket.on('close', () => {
      sockets.delete(socket);
      on.onClose(socket);
    });
    on.onOpen?.(socket);
  });
  await unlink(path).catch(() => {});
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) =>
      reject(fail('sandbox.failed', { reason: `cannot listen on ${path}` }, { cause: error })),
    );
    // Sandboxes run as another user; the folders above keep everybody else on the host out.
    server.listen({ path, readableAll: true, writableAll: true }, resolve);
  });
  server.unref();
  return {
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

function parse(line: Buffer): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line.toString('utf8'));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
