import type { CallerToolsConfig } from '../schema/relay.ts';

/** A tool as the agent sees it, and where its calls go. */
export interface MenuTool {
  name: string;
  description: string;
  inputSchema: ObjectSchema;
  /** The socket method and its parameters for these arguments. */
  call(args: Record<string, unknown>): { method: string; params: object };
  /** How the answer is to be read: a tool result, or plain JSON. */
  answers: 'content' | 'json';
}

interface Discovered {
  name: string;
  description?: string;
  inputSchema?: object;
}

type ObjectSchema = { type: 'object' } & Record<string, unknown>;

/** An agent's MCP client drops the whole list for one schema that is not of type object; the rest stays as it was declared. */
const objectSchema = (schema: object = {}): ObjectSchema =>
  isObjectSchema(schema) ? schema : { ...schema, type: 'object' };
const isObjectSchema = (schema: object): schema is ObjectSchema => 'type' in schema && schema.type === 'object';
const ownPrefix = 'oubliette_';
const text = (description: string): object => ({ type: 'string', description });

/** What every session has, key or not. */
export const baseTools: MenuTool[] = [
  {
    name: 'session_message',
    description:
      'Start a child session with a message, or send one to a child session. Answers its session_id at once.',
    inputSchema: {
      type: 'object',
      properties: {
        message: text('What the child shall do'),
        session_id: text('A child session to go on with; without it a new one is started'),
        agent: text('Which agent the child is'),
        model: text('Which model it uses'),
      },
      required: ['message'],
      additionalProperties: false,
    },
    call: (args) => ({ method: 'session_message', params: args }),
    answers: 'json',
  },
  {
    name: 'session_events',
    description: 'Read what a child session did, from after an index.',
    inputSchema: {
      type: 'object',
      properties: {
        session_id: text('The child session'),
        since_index: { type: 'integer', description: 'Only events after this index; -1 for all', default: -1 },
        max_events: { type: 'integer', description: 'How many at most' },
      },
      required: ['session_id'],
      additionalProperties: false,
    },
    call: (args) => ({ method: 'session_events', params: args }),
    answers: 'json',
  },
  {
    name: 'run',
    description:
      'Run a Python program that calls the tools granted to this project, for example ot.tools() or text.hash(text="x").',
    inputSchema: {
      type: 'object',
      properties: { code: text('The program; its last expression is the answer') },
      required: ['code'],
      additionalProperties: false,
    },
    call: (args) => ({ method: 'run', params: args }),
    answers: 'content',
  },
];

/** The server's own tools, as far as the key reaches; the key stays in this closure and nowhere else. */
export function ownTools(apiKey: string, discovered: Discovered[]): MenuTool[] {
  return discovered.map(({ name, description, inputSchema }) => ({
    name: `${ownPrefix}${name}`,
    description: description ?? '',
    inputSchema: objectSchema(inputSchema),
    call: (args) => ({ method: 'oubliette_call_tool', params: { api_key: apiKey, tool: name, arguments: args } }),
    answers: 'content',
  }));
}

/** A tool of the server that was not offered: the server says why not, so that the agent learns that its key is too weak. */
export function unlistedOwnTool(apiKey: string, name: string): MenuTool | undefined {
  return name.startsWith(ownPrefix) ? ownTools(apiKey, [{ name: name.slice(ownPrefix.length) }])[0] : undefined;
}

/** What the caller of this session lends. */
export function callerTools({ caller_id, tools }: Pick<CallerToolsConfig, 'caller_id' | 'tools'>): MenuTool[] {
  return tools.map(({ name, description, inputSchema }) => ({
    name: `${caller_id}_${name}`,
    description: description ?? '',
    inputSchema: objectSchema(inputSchema),
    call: (args) => ({ method: 'caller_tool', params: { tool: name, arguments: args } }),
    answers: 'json',
  }));
}
