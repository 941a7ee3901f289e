import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type Params = Record<string, any>;

/** A server of the 2025 era over HTTP, written without any SDK, as far as tests need one. */
export interface OldServer {
  url: string;
  origin: string;
  /** Every request with its headers, in order. */
  seen: { method: string; headers: IncomingMessage['headers']; body: string }[];
  /** GET streams that are open now. */
  streams: Set<ServerResponse>;
  close(): void;
}

export interface OldServerOptions {
  /** Answers true when it has dealt with the request itself. */
  before?(incoming: IncomingMessage, outgoing: ServerResponse, body: string): boolean;
  call?(params: Params): Promise<object> | object;
  capabilities?: object;
}

/** Starts it on a free port; its one tool is `hi`. */
export async function oldServer({
  before,
  call,
  capabilities = { tools: {} },
}: OldServerOptions = {}): Promise<OldServer> {
  const seen: OldServer['seen'] = [];
  const streams: OldServer['streams'] = new Set();
  let greeted = 0;
  const result = async (method: string, params: Params): Promise<object> => {
    if (method === 'tools/list') return { tools: [{ name: 'hi', inputSchema: { type: 'object' } }] };
    return call ? await call(params) : { content: [{ type: 'text', text: 'hi' }] };
  };
  const server = createServer((incoming, outgoing) => {
    let body = '';
    incoming.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    incoming.on('end', () => {
      seen.push({ method: incoming.method ?? '', headers: incoming.headers, body });
      if (before?.(incoming, outgoing, body)) return;
      if (incoming.method === 'GET') {
        outgoing.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
        streams.add(outgoing);
        return void outgoing.on('close', () => streams.delete(outgoing));
      }
      if (incoming.method === 'DELETE') return void outgoing.writeHead(200).end();
      const { id, method, params = {} } = JSON.parse(body) as { id?: number; method: string; params?: Params };
      const say = (value: object, headers = {}): void =>
        void outgoing
          .writeHead(200, { 'content-type': 'application/json', ...headers })
          .end(JSON.stringify({ jsonrpc: '2.0', id, ...value }));
      if (id === undefined) return void outgoing.writeHead(202).end();
      if (method === 'server/discover') return say({ error: { code: -32601, message: 'Method not found' } });
      if (method !== 'initialize') return void result(method, params).then((answer) => say({ result: answer }));
      const { protocolVersion } = params;
      const greeting = { protocolVersion, capabilities, serverInfo: { name: 'old', version: '1' } };
      say({ result: greeting }, { 'mcp-session-id': `s${++greeted}` });
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `${origin}/mcp`,
    origin,
    seen,
    streams,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
