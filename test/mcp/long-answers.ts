// What a server of the 2025 era answers whose integers are too long for JavaScript.
type Message = { id?: number; method?: string; params?: Record<string, any> };

const { rawJSON } = JSON as unknown as { rawJSON(text: string): object };

/** As many languages write them, and no two of them the same number in JavaScript as here. */
export const digits = '1234567890123456789';
const long = rawJSON(digits);
const near = rawJSON('-9007199254740993');
/** What the tool `get` answers, to the letter. */
export const answered = `{"id":${digits},"list":[-9007199254740993,7,0.5],"text":"${digits}"}`;

const object = { type: 'object' };
const bounded = {
  type: 'object',
  properties: { n: { type: 'integer', maximum: rawJSON('18446744073709551615'), default: 1 } },
};
const idSchema = {
  type: 'object',
  properties: {
    id: { type: 'integer', minimum: 0, maximum: rawJSON('18446744073709551615') },
    list: { type: 'array', items: { type: 'number' } },
  },
  required: ['id'],
};
const tools = [
  { name: 'get', inputSchema: bounded, outputSchema: idSchema, annotations: { readOnlyHint: true } },
  { name: 'words', inputSchema: object },
  { name: 'wrong', inputSchema: object, outputSchema: { type: 'object', properties: { id: { type: 'object' } } } },
  { name: 'many', inputSchema: object },
  { name: 'fail', inputSchema: object },
  { name: 'bare', inputSchema: object },
  { name: 'ask', inputSchema: object },
];

const structured = { id: long, list: [near, 7, 0.5], text: digits };
const text = (value: string): object => ({ type: 'text', text: value });
const results: Record<string, () => object> = {
  get: () => ({ content: [text('see there')], structuredContent: structured, _meta: { at: long } }),
  words: () => ({ content: [text(answered)] }),
  wrong: () => ({ content: [], structuredContent: structured }),
  many: () => ({ content: [], structuredContent: { ids: Array.from({ length: 20_000 }, () => long) } }),
  bare: () => ({ content: [text(digits)], structuredContent: long }),
  fail: () => ({ content: [text('no')], structuredContent: structured, isError: true }),
};

/** The result of a request; undefined for a method that it does not know. */
export function resultOf({ method, params = {} }: Message): object | undefined {
  if (method === 'tools/list') return { tools };
  if (method === 'tools/call') return results[params['name'] as string]?.();
  if (method === 'prompts/list') return { prompts: [{ name: 'p' }], _meta: { at: long } };
  if (method === 'prompts/get')
    return { messages: [{ role: 'user', content: text('hi') }], _meta: { at: long, near: [near] } };
  if (method !== 'initialize') return undefined;
  const { protocolVersion } = params;
  const serverInfo = { name: 'long', version: '1' };
  return { protocolVersion, capabilities: { tools: {}, prompts: {}, logging: {} }, serverInfo, _meta: { at: long } };
}

/** What its tool `ask` asks, and what it answers when it was answered. */
export const question = {
  method: 'elicitation/create',
  params: {
    message: 'Which?',
    requestedSchema: { type: 'object', properties: { id: { type: 'integer', default: long } } },
  },
};

/** A line of its log. */
export const logged = { method: 'notifications/message', params: { level: 'info', data: { id: long } } };
