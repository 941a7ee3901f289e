import { createServer, type IncomingMessage, type Server } from 'node:http';
import { once } from 'node:events';
import { chmod, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';

/** What the model says next: text, or a call of a tool that the request offers. */
export type Line = { text: string } | { call: string; arguments: object };

export interface ModelRequest {
  path: string;
  headers: IncomingMessage['headers'];
  body: any;
}

/** A model's HTTP endpoint (OpenAI Responses API with SSE) that says what it is told to, in order. */
export interface ScriptedModel {
  /** Empty when it listens on a socket. */
  url: string;
  requests: ModelRequest[];
  close(): Promise<void>;
}

/** Listens on a unix socket or on any free port of the loopback. Beyond the script it answers `done`. */
export async function scriptedModel(script: Line[], socket?: string): Promise<ScriptedModel> {
  const requests: ModelRequest[] = [];
  let turn = 0;
  const server: Server = createServer((request, response) => {
    void readBody(request).then((text) => {
      const body = parse(text);
      requests.push({ path: request.url ?? '', headers: request.headers, body });
      if (!request.url?.endsWith('/responses')) {
        response.setHeader('content-type', 'application/json');
        return response.end(JSON.stringify({ object: 'list', data: [] }));
      }
      response.setHeader('content-type', 'text/event-stream');
      const line = script[turn++] ?? { text: 'done' };
      for (const event of events(line, body, turn))
        response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
      return response.end();
    });
  });
  if (socket) await rm(socket, { force: true });
  server.listen(socket ?? { port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  if (socket) await chmod(socket, 0o666);
  return {
    url: socket ? '' : `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

type Event = { type: string; [key: string]: unknown };

function* events(line: Line, body: any, turn: number): Generator<Event> {
  const id = `resp_${turn}`;
  const response = { id, object: 'response', status: 'in_progress', model: body?.model, output: [] };
  yield { type: 'response.created', response };
  const item = 'text' in line ? message(line.text, turn) : call(line, body, turn);
  yield {
    type: 'response.output_item.added',
    output_index: 0,
    item: { ...item, ...('text' in line ? { content: [] } : {}) },
  };
  if ('text' in line)
    yield {
      type: 'response.output_text.delta',
      output_index: 0,
      content_index: 0,
      item_id: item['id'],
      delta: line.text,
    };
  yield { type: 'response.output_item.done', output_index: 0, item };
  const usage = {
    input_tokens: 10,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 5,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 15,
  };
  yield { type: 'response.completed', response: { ...response, status: 'completed', output: [item], usage } };
}

const message = (text: string, turn: number): Record<string, unknown> => ({
  id: `msg_${turn}`,
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [] }],
});

/** Tools of an MCP server come in a namespace: the call must name both. */
function call(line: { call: string; arguments: object }, body: any, turn: number): Record<string, unknown> {
  const owner = (body?.tools ?? []).find(
    (tool: any) => tool.type === 'namespace' && tool.tools?.some((each: any) => each.name === line.call),
  );
  return {
    id: `fc_${turn}`,
    type: 'function_call',
    status: 'completed',
    call_id: `call_${turn}`,
    name: line.call,
    ...(owner ? { namespace: owner.name } : {}),
    arguments: JSON.stringify(line.arguments),
  };
}

async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
  return Buffer.concat(parts).toString('utf8');
}

function parse(text: string): any {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
