import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server of the first era: one stream per session, on which all answers come. Its one tool is `hi`. */
export interface SseServer {
  url: string;
  /** The stream of every session that it knows. */
  sessions: Map<string, ServerResponse>;
  /** Whether its streams begin as they should, with the address for messages. */
  isWelcoming: boolean;
  /** Deals with the next call instead of answering it. */
  onCall: ((session: string) => void) | undefined;
  close(): void;
}

export async function sseServer(): Promise<SseServer> {
  const greeted = new Set<string>();
  let opened = 0;
  const http = createServer(async (incoming, outgoing) => {
    const address = new URL(incoming.url ?? '', 'http://any');
    if (incoming.method === 'GET') {
      const session = `s${++opened}`;
      outgoing.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      if (made.isWelcoming) outgoing.write(`event: endpoint\ndata: /messages?session=${session}\n\n`);
      made.sessions.set(session, outgoing);
      return;
    }
    let body = '';
    for await (const piece of incoming.setEncoding('utf8')) body += piece;
    const { id, method } = JSON.parse(body) as { id?: number; method: string };
    const session = address.searchParams.get('session') ?? '';
    const stream = made.sessions.get(session);
    if (!stream) return void outgoing.writeHead(404).end('no such session');
    outgoing.writeHead(202).end();
    const say = (value: object): void =>
      void stream.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id, ...value })}\n\n`);
    if (id === undefined) return;
    if (method === 'initialize') greeted.add(session);
    if (!greeted.has(session)) return say({ error: { code: -32000, message: 'not greeted' } });
    const { onCall } = made;
    if (method === 'tools/call' && onCall) {
      made.onCall = undefined;
      return onCall(session);
    }
    say({ result: results[method] ?? { content: [{ type: 'text', text: `hi in ${session}` }] } });
  }).listen(0, '127.0.0.1');
  await once(http, 'listening');
  const made: SseServer = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/sse`,
    sessions: new Map(),
    isWelcoming: true,
    onCall: undefined,
    close() {
      http.closeAllConnections();
      http.close();
    },
  };
  return made;
}

const results: Record<string, object> = {
  initialize: { protocolVersion: '2024-11-05', capabilities: { tools: {} }, serverInfo: { name: 'sse', version: '1' } },
  'tools/list': { tools: [{ name: 'hi', inputSchema: { type: 'object' } }] },
};
