import type { Server } from 'node:http';
import type { Socket } from 'node:net';

const lookEveryMs = 50;

/**
 * Connections outlive their answers, so a server that stops would wait for clients to hang up. From the moment that
 * `finish` is called each connection is closed once its answer has left; after `mostMs` whatever is left.
 */
export function finishConnections(server: Server): (mostMs: number, closed: () => Promise<unknown>) => Promise<void> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  const closeIdle = server.closeIdleConnections.bind(server);
  // A connection counts as idle once its answer was ended, also while the last bytes are still on their way.
  server.closeIdleConnections = () => {
    for (const { writableLength } of sockets) if (writableLength > 0) return;
    closeIdle();
  };
  return async (mostMs, closed) => {
    const look = setInterval(() => server.closeIdleConnections(), lookEveryMs);
    const force = setTimeout(() => server.closeAllConnections(), mostMs);
    try {
      await closed();
    } finally {
      clearInterval(look);
      clearTimeout(force);
    }
  };
}
