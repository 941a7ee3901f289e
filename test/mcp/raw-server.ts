// A small MCP server over stdio, written without any SDK, that can also behave badly. Behaviours come as arguments.
import { createInterface } from 'node:readline';

type Message = { id?: string | number; method?: string; params?: Record<string, any>; result?: any; error?: any };

const wants = new Set(process.argv.slice(2));
const number = (name: string, otherwise: number): number => {
  const found = [...wants].find((each) => each.startsWith(`${name}=`));
  return found ? Number(found.slice(name.length + 1)) : otherwise;
};
const say = (message: object): void => void process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');
const text = (value: string, more: object = {}): object => ({ content: [{ type: 'text', text: value }], ...more });

const echo = {
  name: 'echo',
  description: 'Says it again',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  annotations: { readOnlyHint: true },
};
const tools: object[] = [
  echo,
  {
    name: 'Add Numbers/now',
    description: 'a\u202eb\u0007 sum',
    inputSchema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
    outputSchema: { type: 'object', properties: { sum: { type: 'number' } } },
  },
  { name: 'env', inputSchema: { type: 'object' } },
  { name: 'look', inputSchema: { type: 'object', properties: { path: { type: 'string' } } } },
  { name: 'picture', inputSchema: { type: 'object' } },
  { name: 'slow', inputSchema: { type: 'object', properties: { ms: { type: 'number' } } } },
  { name: 'ask', inputSchema: { type: 'object' } },
  { name: 'die', inputSchema: { type: 'object' } },
  { name: 'fail', inputSchema: { type: 'object' } },
  { name: 'grow', inputSchema: { type: 'object' } },
];
if (wants.has('resources'))
  tools.push(
    { name: 'subscribed', inputSchema: { type: 'object' } },
    { name: 'touch', inputSchema: { type: 'object' } },
  );
if (wants.has('rude'))
  tools.push(
    { name: 'ask_and_take_back', inputSchema: { type: 'object' } },
    { name: 'ask_anyway', inputSchema: { type: 'object' } },
    { name: 'mute', inputSchema: { type: 'object' } },
    { name: 'mutter', inputSchema: { type: 'object' } },
    { name: 'lists', inputSchema: { type: 'object' } },
  );
const subscribed = new Set<string>();
let lists = 0;
if (wants.has('odd')) {
  tools.push(
    { name: 'a-b', inputSchema: { type: 'object' } },
    { name: 'a_b', inputSchema: { type: 'object' } },
    { ...echo, description: 'the second echo' },
    { name: 'broken', inputSchema: { type: 'object', properties: 5 } },
    {
      name: 'circle',
      inputSchema: {
        type: 'object',
        properties: { x: { $ref: '#/$defs/a' } },
        $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } },
      },
    },
    { name: 'loose', inputSchema: { type: 'object', properties: { x: { $ref: '#/$defs/gone' } } } },
    {
      name: 'loop',
      inputSchema: {
        type: 'object',
        properties: { node: { $ref: '#/$defs/node' } },
        $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } } },
      },
    },
    { name: 'huge', inputSchema: { type: 'object', description: 'x'.repeat(1_000_000) } },
    {
      name: 'union',
      inputSchema: {
        type: 'object',
        properties: { v: { anyOf: [{ type: 'string' }, { type: 'null' }] }, w: { type: ['integer', 'null'] } },
      },
    },
    { name: 'n'.repeat(200), description: 'd'.repeat(5000), inputSchema: { type: 'object' } },
    { name: 'import', inputSchema: { type: 'object' } },
    { name: 'import_', inputSchema: { type: 'object' } },
    { name: 'wordless', inputSchema: { type: 'object' } },
    { name: 'unheld', inputSchema: { type: 'object' }, outputSchema: { type: 'nothing known' } },
    { name: 'constructor', inputSchema: { type: 'object' } },
    { name: 'monty', inputSchema: { type: 'object' } },
    { inputSchema: { type: 'object' } },
    'not even an object' as unknown as object,
  );
}
for (let i = 0; i < number('many', 0); i++)
  tools.push({ name: `tool_${i}`, description: `Number ${i}`, inputSchema: { type: 'object' } });

const waiting = new Map<string, (message: Message) => void>();
let asked = 0;
function askClient(method: string, params: object): Promise<Message> {
  const id = `q${++asked}`;
  say({ id, method, params });
  return new Promise((resolve) => waiting.set(id, resolve));
}

const cancelled = new Set<unknown>();
const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];
let level = wants.has('shy') ? 'emergency' : 'debug';

async function call(params: Record<string, any>, id: unknown): Promise<object> {
  const args = params['arguments'] ?? {};
  const token = params['_meta']?.progressToken;
  switch (params['name']) {
    case 'echo':
      return text(String(args.text));
    case 'Add Numbers/now':
      return text(String(args.a + args.b), { structuredContent: { sum: args.a + args.b } });
    case 'env':
      return text(JSON.stringify(process.env));
    case 'look': {
      const { readdirSync } = await import('node:fs');
      return text(JSON.stringify({ pid: process.pid, names: readdirSync(args.path ?? '/') }));
    }
    case 'picture':
      return {
        content: [
          { type: 'image', data: Buffer.from('png!').toString('base64'), mimeType: 'image/png' },
          { type: 'text', text: 'a picture' },
        ],
      };
    case 'slow': {
      const until = Date.now() + (args.ms ?? 1000);
      for (let step = 1; Date.now() < until && !cancelled.has(id); step++) {
        if (token !== undefined)
          say({
            method: 'notifications/progress',
            params: { progressToken: token, progress: step, message: 'still here' },
          });
        if (levels.indexOf(level) <= levels.indexOf('info'))
          say({ method: 'notifications/message', params: { level: 'info', logger: 'slow', data: `step ${step}` } });
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      if (cancelled.has(id)) process.stderr.write('cancelled as asked\n');
      return text('done');
    }
    case 'ask': {
      const answer = await askClient('elicitation/create', {
        message: 'Your name?',
        requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
      });
      return text(JSON.stringify(answer.result ?? answer));
    }
    case 'ask_and_take_back': {
      const answer = askClient('elicitation/create', { message: 'Quick?' });
      say({ method: 'notifications/cancelled', params: { requestId: `q${asked}` } });
      return text(JSON.stringify((await answer).error ?? {}));
    }
    case 'ask_anyway': {
      // Told to stop, it asks all the same.
      while (!cancelled.has(id)) await new Promise((resolve) => setTimeout(resolve, 10));
      const answer = await askClient('elicitation/create', { message: 'Whose?' });
      process.stderr.write(`answered ${JSON.stringify(answer.result ?? answer.error)}\n`);
      return text('too late');
    }
    case 'mute':
      return { content: [{ type: 'text' }, { type: 'text', text: 'said' }] };
    case 'mutter':
      for (const level of [{ toString: 1, valueOf: 1 }, null, 5]) {
        say({ method: 'notifications/message', params: { level, data: 'hm' } });
        say({ method: 'notifications/resources/updated', params: { uri: level } });
      }
      return text('muttered');
    case 'lists':
      return text(String(lists));
    case 'subscribed':
      return text([...subscribed].join());
    case 'touch':
      for (const uri of subscribed) say({ method: 'notifications/resources/updated', params: { uri } });
      return text('touched');
    case 'die':
      return process.exit(3);
    case 'fail':
      return text('it did not work', { isError: true });
    case 'grow':
      tools.push({ name: `grown_${tools.length}`, inputSchema: { type: 'object' } });
      say({ method: 'notifications/tools/list_changed' });
      return text('one more');
    case 'constructor':
      return { content: 'no list', isError: true };
    case 'monty':
      return text(JSON.stringify({ __monty_type__: 'Dataclass', fields: {} }));
    default:
      return text(`no ${params['name']}`, { isError: true });
  }
}

async function answer(message: Message): Promise<void> {
  const { id, method, params = {} } = message;
  if (method === undefined) return waiting.get(String(id))?.(message);
  if (method === 'notifications/cancelled') return void cancelled.add(params['requestId']);
  if (id === undefined) return;
  if (wants.has('exit-on-probe') && method !== 'initialize' && method === 'server/discover') process.exit(1);
  if (wants.has('hang')) return;
  if (method === 'initialize')
    return say({
      id,
      result: {
        protocolVersion: params['protocolVersion'],
        capabilities: {
          tools: { listChanged: true },
          logging: {},
          ...(wants.has('resources') && { resources: { subscribe: true } }),
          ...(wants.has('rude') && { prompts: {} }),
        },
        serverInfo: { name: 'raw', version: '1' },
        instructions: 'A raw server.',
      },
    });
  if (method === 'logging/setLevel') {
    level = params['level'];
    return say({ id, result: {} });
  }
  if (method === 'ping') return say({ id, result: {} });
  if (method === 'tools/list' && wants.has('unlisted')) return say({ id, error: { code: 1, message: 'not today' } });
  if (method === 'tools/list' && wants.has('listless')) return say({ id, result: { tools: 'none' } });
  if (method === 'tools/call' && params['name'] === 'wordless') return say({ id, error: 'no reason' });
  if (method === 'resources/subscribe' || method === 'resources/unsubscribe') {
    if (method === 'resources/subscribe') subscribed.add(params['uri']);
    else subscribed.delete(params['uri']);
    return say({ id, result: {} });
  }
  if (method === 'prompts/get') {
    if (params['name'] === 'key') {
      const { KEY } = process.env;
      say({ method: 'notifications/message', params: { level: 'info', data: { key: KEY } } });
      if (params['arguments']) return say({ id, error: { code: 7, message: `no ${KEY}`, data: [KEY] } });
      return say({ id, result: { messages: [], description: `the key is ${KEY}` } });
    }
    const { result, error } = await askClient('elicitation/create', { message: 'For the prompt?' });
    return say({ id, result: { messages: [], description: JSON.stringify(result ?? error) } });
  }
  if (method === 'tools/list') {
    lists++;
    if (wants.has('stormy')) setTimeout(() => say({ method: 'notifications/tools/list_changed' }), 1);
    const size = number('page', 1_000);
    const from = Number(params['cursor'] ?? 0);
    return say({
      id,
      result: {
        tools: tools.slice(from, from + size),
        ...(from + size < tools.length && { nextCursor: String(from + size) }),
        ...(wants.has('endless') && { nextCursor: '0' }),
      },
    });
  }
  if (method === 'tools/call') return say({ id, result: await call(params, id) });
  say({ id, error: { code: -32601, message: 'Method not found' } });
}

process.stderr.write('raw server starts\n');
if (wants.has('noise')) process.stdout.write('this is no JSON\n{"broken":\n[]\n42\n');
if (wants.has('flood')) {
  const flood = (): void => {
    for (let i = 0; i < 500; i++)
      say({ method: 'notifications/message', params: { level: 'debug', data: 'x'.repeat(200) } });
    if (process.stdout.writableNeedDrain) process.stdout.once('drain', flood);
    else setImmediate(flood);
  };
  flood();
}
createInterface({ input: process.stdin })
  .on('line', (line) => void answer(JSON.parse(line) as Message))
  .on('close', () => process.exit(0));
