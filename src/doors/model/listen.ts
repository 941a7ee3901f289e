import { unlink } from 'node:fs/promises';
import type { Server } from 'node:http';

/** Listens on a socket in a sandbox's folder; `close` also ends what is open. Fails when the path cannot be bound. */
export async function listenIn(server: Server, path: string): Promise<{ close(): Promise<void> }> {
  await unlink(path).catch(() => {});
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    // Sandboxes run as another user; the folders above keep everybody else on the host out.
    server.listen({ path, readableAll: true, writableAll: true }, resolve);
  });
  server.unref();
  return {
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
