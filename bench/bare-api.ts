// The API that `http-tool` calls: it answers the same small JSON to everyone.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const body = JSON.stringify({ city: 'Ulm', temp: 21.5, wind: { speed: 3, from: 'NW' }, hours: [18, 19, 21, 22, 20] });
const server = createServer((_, response) =>
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body),
);
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () =>
  console.log(JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })),
);
process.on('SIGTERM', () => {
  server.closeAllConnections();
  server.close();
});
