// The other side of `caller-round-trip`: the same chain without any logic. `server`: unix socket, one SQLite insert,
// SSE to the caller, POST of the answer. `client`: stdio to unix socket.
import { createServer as createHttp, type ServerResponse } from 'node:http';
import { connect, createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';

const [mode, path = ''] = process.argv.slice(2);

if (mode === 'client') {
  const socket = connect(path);
  process.stdin.pipe(socket).pipe(process.stdout);
  process.stdin.on('end', () => process.exit(0));
} else {
  const db = new DatabaseSync(`${path}.db`);
  db.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; CREATE TABLE asks (id INTEGER PRIMARY KEY, text TEXT)',
  );
  const insert = db.prepare('INSERT INTO asks (text) VALUES (?)');
  const waiting = new Map<number, (result: string) => void>();
  let stream: ServerResponse | undefined;
  createServer((socket) => {
    createInterface({ input: socket }).on('line', (line) => {
      const { id, params } = JSON.parse(line) as { id: unknown; params: unknown };
      const ask = Number(insert.run(JSON.stringify(params)).lastInsertRowid);
      waiting.set(ask, (result) => socket.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`));
      stream?.write(
        `id: ${ask}\nevent: caller_tool_request\ndata: ${JSON.stringify({ request_id: ask, arguments: params })}\n\n`,
      );
    });
  }).listen(path);
  const http = createHttp((request, response) => {
    if (request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      stream = response;
      return;
    }
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const { request_id, result } = JSON.parse(body) as { request_id: number; result: string };
      waiting.get(request_id)?.(result);
      waiting.delete(request_id);
      response.end('{"ok":true}');
    });
  }).listen(0, '127.0.0.1', () =>
    console.log(JSON.stringify({ url: `http://127.0.0.1:${(http.address() as { port: number }).port}` })),
  );
  process.on('SIGTERM', () => process.exit(0));
}
