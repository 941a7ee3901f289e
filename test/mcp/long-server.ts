// The server of long-answers.ts over stdio.
import { createInterface } from 'node:readline';
import { logged, question, resultOf } from './long-answers.ts';

const say = (message: object): void => void process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');
/** The call that waits for an answer of the client. */
let asking: number | undefined;

createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line);
  const { id, method, params } = message;
  // The answer as it came, unread.
  if (id === 'q1' && method === undefined)
    return say({ id: asking, result: { content: [{ type: 'text', text: line }] } });
  if (id === undefined) return;
  if (method === 'tools/call' && params.name === 'ask') {
    asking = id;
    say(logged);
    const { progressToken } = params._meta ?? {};
    if (progressToken !== undefined) say({ method: 'notifications/progress', params: { progressToken, progress: 1 } });
    return say({ id: 'q1', ...question });
  }
  const result = resultOf(message);
  say(result ? { id, result } : { id, error: { code: -32601, message: 'Method not found' } });
});
