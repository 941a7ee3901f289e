// The other side of `direct-call`: a bare handler of our HTTP library that parses and answers the same JSON.
import fastify from 'fastify';

const app = fastify({ logger: false });
app.post('/invoke', async (request) => {
  const { args } = request.body as { args: { text: string } };
  return { ok: true, value: args.text.length % 2 === 0 ? 'red' : 'blue' };
});
await app.listen({ port: 0, host: '127.0.0.1' });
console.log(JSON.stringify({ url: `http://127.0.0.1:${(app.server.address() as { port: number }).port}` }));
process.on('SIGTERM', () => void app.close());
