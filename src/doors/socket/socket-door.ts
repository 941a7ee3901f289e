import { unlink } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { callerToolsConfig, fail, relaySocketName, sessionOver, type CallerToolsConfig } from '../../schema/index.ts';
import { RpcFailure, serveConnection, type Connection } from './connection.ts';
import { relayMethods, type MethodDeps, type RelaySession } from './methods.ts';
import { OpenCalls } from './open-calls.ts';

export interface SocketDoorDeps extends Omit<MethodDeps, 'session'> {
  /** Who speaks as this session; throws session.not_found when it is over. */
  session: (sessionId: string) => Promise<RelaySession>;
  /** Counts as activity of the session. */
  touch: (sessionId: string) => void;
  /** What its caller declared, empty when nothing. */
  declared: (sessionId: string) => Promise<{ caller_id: string; tools: CallerToolsConfig['tools'] }>;
  /** Whoever declares waits for what the listener promises, before the agent gets the message that needs it. */
  onDeclared: (listener: (sessionId: string) => Promise<void>) => () => void;
  reconnectGraceMs: () => number;
}

/** A sandbox's folder and the session it belongs to; a slot of the warm pool learns it late. */
interface Identity {
  folder: string;
  sessionId(): string | undefined;
  bound: Promise<string>;
}

const maxConnections = 256;

/** Says why, and does not wait for a client that never reads. */
function refuse(socket: Socket): void {
  const { rpc } = new RpcFailure(-32000, `this session has ${maxConnections} connections already`, 'rate.limited');
  socket.on('error', () => {});
  socket.end(`${JSON.stringify({ jsonrpc: '2.0', id: null, error: rpc })}\n`);
  setTimeout(() => socket.destroy(), 1000).unref();
}

/** Listens in the folder of every sandbox. */
export function socketDoor(deps: SocketDoorDeps): { open(identity: Identity): Promise<{ close(): Promise<void> }> } {
  return { open: (identity) => listen(deps, identity) };
}

async function listen(deps: SocketDoorDeps, identity: Identity): Promise<{ close(): Promise<void> }> {
  const connections = new Map<object, Connection>();
  const calls = new OpenCalls(deps.reconnectGraceMs);
  const session = async (): Promise<RelaySession> => {
    const id = identity.sessionId() ?? (await identity.bound);
    deps.touch(id);
    return deps.session(id);
  };
  const run = relayMethods({ ...deps, session });

  const config = async (sessionId: string): Promise<CallerToolsConfig> => ({
    ...(await deps.declared(sessionId)),
    reconnect_grace_ms: deps.reconnectGraceMs(),
  });
  const greet = async (connection: Connection): Promise<void> => {
    connection.notify(callerToolsConfig, await config(identity.sessionId() ?? (await identity.bound)));
  };

  const server = createServer((socket) => {
    if (connections.size >= maxConnections) return refuse(socket);
    const connection = serveConnection(socket, calls, run);
    connections.set(socket, connection);
    socket.on('close', () => connections.delete(socket));
    void greet(connection).catch(() => socket.destroy());
  });
  const stopListening = deps.onDeclared(async (sessionId) => {
    if (sessionId !== identity.sessionId()) return;
    const said = await config(sessionId);
    connections.forEach((connection) => connection.notify(callerToolsConfig, said));
  });

  const path = join(identity.folder, relaySocketName);
  await unlink(path).catch(() => {});
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) =>
      reject(fail('sandbox.failed', { reason: `cannot listen on ${path}` }, { cause: error })),
    );
    // Sandboxes run as another user; the folders above keep everybody else on the host out.
    server.listen({ path, readableAll: true, writableAll: true }, resolve);
  });
  return {
    async close() {
      stopListening();
      const id = identity.sessionId();
      const isOver =
        id !== undefined &&
        (await deps.session(id).then(
          () => false,
          () => true,
        ));
      for (const connection of connections.values()) {
        // A server that only restarts says nothing: its clients wait for it.
        if (isOver) {
          connection.failOpen(new RpcFailure(-32000, 'the session is over', 'session.not_found'));
          connection.notify(sessionOver, {});
        }
        connection.close();
      }
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        setTimeout(() => connections.forEach((_, socket) => (socket as { destroy(): void }).destroy()), 1000).unref();
      });
    },
  };
}
