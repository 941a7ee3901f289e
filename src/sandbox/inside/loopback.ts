import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { loopbackPorts } from '../../schema/supervisor.ts';

/** Programs that speak only TCP reach the model and egress doors through ports of the sandbox's own loopback. */
export function openLoopback(mcp: string): void {
  for (const { port, socket } of Object.values(loopbackPorts)) {
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (inner) => {
      const outer = connect({ path: join(mcp, socket), allowHalfOpen: true });
      inner.on('error', () => outer.destroy());
      outer.on('error', () => inner.destroy());
      inner.pipe(outer);
      outer.pipe(inner);
    });
    server.on('error', (error) => process.stderr.write(`loopback port ${port}: ${error.message}\n`));
    server.listen(port, '127.0.0.1');
  }
}
