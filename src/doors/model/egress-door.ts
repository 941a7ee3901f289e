import { lookup } from 'node:dns/promises';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, isIP, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import type { Logger } from '../../observe/index.ts';
import type { BoxDoor, DoorIdentity } from '../../sessions/index.ts';
import { hostRules } from '../../sources/http/index.ts';
import { listenIn } from './listen.ts';

const maxConnections = 64;
const connectWithinMs = 10_000;
const idleMs = 10 * 60_000;

export interface EgressDoorOptions {
  /** The hosts that a project's sandboxes may reach. */
  egressOf: (projectId: string) => Promise<readonly string[]>;
  log: Logger;
  resolve?: (host: string) => Promise<{ address: string }[]>;
}

/** `/mcp/egress.sock`: a CONNECT proxy for the hosts a project lists, decided on the address that is dialled. */
export function egressDoor(options: EgressDoorOptions): BoxDoor {
  return {
    async open(identity) {
      const sockets = new Set<Duplex>();
      const server = createServer((_request, response) => {
        response
          .writeHead(405, { 'content-type': 'text/plain', allow: 'CONNECT' })
          .end('Only CONNECT is possible here: use https.\n');
      });
      server.on('connect', (request: IncomingMessage, client: Duplex, head: Buffer) => {
        client.on('error', () => client.destroy());
        if (sockets.size >= maxConnections) return refuse(client, 503, 'too many connections');
        sockets.add(client);
        client.once('close', () => sockets.delete(client));
        tunnel(options, identity, request.url ?? '', client, head).catch((error: unknown) => {
          options.log.warn({ span: 'egress', err: error, project: identity.projectId }, 'egress failed');
          client.destroy();
        });
      });
      server.on('clientError', (_error, socket) => socket.destroy());
      const listening = await listenIn(server, join(identity.folder, 'egress.sock'));
      return {
        close: () => {
          for (const socket of sockets) socket.destroy();
          return listening.close();
        },
      };
    },
  };
}

async function tunnel(
  options: EgressDoorOptions,
  identity: DoorIdentity,
  target: string,
  client: Duplex,
  head: Buffer,
): Promise<void> {
  const { host, port } = parseTarget(target);
  const note = (outcome: string, address?: string): void =>
    options.log.info(
      { span: 'egress', project: identity.projectId, session: identity.sessionId(), host, port, address, outcome },
      `egress ${target.slice(0, 200)}: ${outcome}`,
    );
  if (host === undefined || port === undefined) return refuse(client, 400, 'host:port is needed');
  const rules = hostRules(await options.egressOf(identity.projectId));
  if (!rules.mayAsk(host, port)) {
    note('refused');
    return refuse(client, 403, `${host}:${port} is not in the egress list of this project`);
  }
  const address = await firstAllowed(options, rules, host, port);
  if (address === undefined) {
    note('refused address');
    return refuse(client, 403, `${host} has no address that may be dialled`);
  }
  const socket = connect({ host: address, port });
  const isConnected = await connected(socket);
  if (!isConnected || client.destroyed) {
    socket.destroy();
    note('unreachable', address);
    return refuse(client, 502, `${host}:${port} could not be reached`);
  }
  note('open', address);
  client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
  if (head.length > 0) socket.write(head);
  socket.setTimeout(idleMs, () => socket.destroy());
  socket.on('error', () => client.destroy());
  client.once('close', () => socket.destroy());
  socket.once('close', () => client.destroy());
  client.pipe(socket).pipe(client);
}

function parseTarget(target: string): { host?: string; port?: number } {
  const match = /^(\[[0-9a-fA-F:.]+\]|[^:[\]/@\s]+):(\d{1,5})$/.exec(target);
  const port = Number(match?.[2]);
  return match && port > 0 && port < 65_536 ? { host: match[1]!.replace(/^\[|\]$/g, ''), port } : {};
}

async function firstAllowed(
  options: EgressDoorOptions,
  rules: ReturnType<typeof hostRules>,
  host: string,
  port: number,
): Promise<string | undefined> {
  if (isIP(host)) return rules.mayDial(host, host, port) ? host : undefined;
  const addresses = await (options.resolve ?? ((name: string) => lookup(name, { all: true })))(host).catch(() => []);
  return addresses.find(({ address }) => rules.mayDial(address, host, port))?.address;
}

function connected(socket: Socket): Promise<boolean> {
  return new Promise<boolean>((resolve) => {
    const settle = (isOpen: boolean): void => {
      clearTimeout(timer);
      resolve(isOpen);
    };
    const timer = setTimeout(() => settle(false), connectWithinMs);
    socket.once('connect', () => settle(true));
    socket.once('error', () => settle(false));
  });
}

function refuse(client: Duplex, status: number, reason: string): void {
  client.end(`HTTP/1.1 ${status} Refused\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n${reason}\n`);
}
