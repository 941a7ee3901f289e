import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resultOf } from './long-answers.ts';

/** The server of long-answers.ts over HTTP: at `/json`, at `/stream` with an event stream for every answer, and at `/sse`. */
export async function longHttpServer(): Promise<{ origin: string; close(): void }> {
  let first: ServerResponse | undefined;
  const http = createServer(async (incoming, outgoing) => {
    const { pathname } = new URL(incoming.url ?? '', 'http://any');
    if (incoming.method === 'GET') {
      if (pathname !== '/sse') return void outgoing.writeHead(405).end();
      first = outgoing.writeHead(200, { 'content-type': 'text/event-stream' });
      return void outgoing.write('event: endpoint\ndata: /messages\n\n');
    }
    let body = '';
    for await (const piece of incoming.setEncoding('utf8')) body += piece;
    const message = JSON.parse(body || '{}');
    const { id } = message;
    if (id === undefined || pathname === '/sse') return void outgoing.writeHead(id === undefined ? 202 : 405).end();
    const result = resultOf(message);
    const answer = JSON.stringify({
      jsonrpc: '2.0',
      id,
      ...(result ? { result } : { error: { code: -32601, message: 'Method not found' } }),
    });
    if (pathname === '/messages') {
      outgoing.writeHead(202).end();
      return void first?.write(`data: ${answer}\n\n`);
    }
    if (pathname === '/json') return void outgoing.writeHead(200, { 'content-type': 'application/json' }).end(answer);
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' });
    // In the midst of a number, and with line ends of another kind.
    const middle = answer.lastIndexOf('90123');
    const split = middle < 0 ? 10 : middle;
    outgoing.write(`: hello\r\n\r\nid: 1\r\ndata: ${answer.slice(0, split)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
    outgoing.end(`${answer.slice(split)}\r\n\r\n`);
  }).listen(0, '127.0.0.1');
  await once(http, 'listening');
  return {
    origin: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    close() {
      http.closeAllConnections();
      http.close();
    },
  };
}
