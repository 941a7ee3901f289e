// The other side of discovery: answers every line with as many bytes, under its id.
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';

const [path, bytes] = process.argv.slice(2);
const filler = 'x'.repeat(Math.max(0, Number(bytes) - 40));
createServer((socket) => {
  createInterface({ input: socket }).on('line', (line) => {
    const { id } = JSON.parse(line) as { id: number };
    socket.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: filler })}\n`);
  });
  socket.on('error', () => {});
}).listen(path, () => console.log('{}'));
process.on('SIGTERM', () => process.exit(0));
