// A stdio MCP server with as many tools as it is told: `many-tools.ts COUNT NAME`.
const [, , count = '10', part = '0'] = process.argv;
const verbs = ['list', 'get', 'send', 'resize', 'delete', 'find', 'convert', 'plan'];
const things = ['file', 'image', 'message', 'invoice', 'weather', 'user', 'branch', 'number'];
const tool = (i: number): object => {
  const [verb, thing] = [verbs[i % 8], things[(i >> 3) % 8]];
  return {
    name: `${verb}_${thing}_${i}`,
    description: `${verb} one ${thing} of kind ${part}-${i}`,
    inputSchema: {
      type: 'object',
      properties: { id: { type: 'string', description: `which ${thing}` } },
      required: ['id'],
    },
  };
};
let rest = '';
process.stdin.setEncoding('utf8').on('data', (chunk: string) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop() ?? '';
  for (const line of lines) {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) continue;
    const from = Number(params?.cursor ?? 0);
    const size = Math.min(2000, Number(count) - from);
    let answer: object = { error: { code: -32601, message: 'Method not found' } };
    if (method === 'initialize')
      answer = {
        result: {
          protocolVersion: params.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: 'many', version: '1' },
        },
      };
    if (method === 'tools/list')
      answer = {
        result: {
          tools: Array.from({ length: size }, (_, i) => tool(from + i)),
          ...(from + size < Number(count) && { nextCursor: String(from + size) }),
        },
      };
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...answer })}\n`);
  }
});
process.stdin.on('end', () => process.exit(0));
