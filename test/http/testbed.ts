import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { text } from 'node:stream/consumers';
import type { Call, HttpImpl, JsonSchema, Progress, ToolResult, ToolView } from '../../src/schema/index.ts';
import { dialler, httpSource, type Dialler, type HttpSource, type Resolve } from '../../src/sources/http/index.ts';
import { Database, redactor, sqliteSecrets, type Redactor, type SecretStore } from '../../src/store/index.ts';

export interface Seen {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}

/** A real HTTP server that remembers what it was asked. */
export interface TestServer {
  port: number;
  host: string;
  url: string;
  seen: Seen[];
  answer: (request: Seen, response: ServerResponse) => void;
  close(): void;
}

export async function testServer(
  answer: TestServer['answer'] = (_, response) => response.end('{}'),
): Promise<TestServer> {
  const made: TestServer = { port: 0, host: '', url: '', seen: [], answer, close: () => {} };
  const server: Server = createServer((request, response) => {
    void text(request).then((body) => {
      const seen = { method: request.method ?? '', url: request.url ?? '', headers: request.headers, body };
      made.seen.push(seen);
      made.answer(seen, response);
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  made.port = (server.address() as AddressInfo).port;
  made.host = `127.0.0.1:${made.port}`;
  made.url = `http://${made.host}`;
  made.close = () => {
    server.closeAllConnections();
    server.close();
  };
  return made;
}

export interface Bench {
  source: HttpSource;
  secrets: SecretStore;
  redactor: Redactor;
  dialler: Dialler;
  allowedHosts: string[];
  home: string;
  /** Runs a tool as the gate would. */
  run(impl: HttpImpl | HttpImpl['request'], args?: Record<string, unknown>, options?: RunOptions): Promise<ToolResult>;
  tool(impl: HttpImpl | HttpImpl['request'], options?: RunOptions): ToolView;
  close(): Promise<void>;
}

export interface RunOptions {
  argSchema?: JsonSchema;
  limits?: ToolView['limits'];
  onProgress?: (progress: Progress) => void;
  signal?: AbortSignal;
}

let count = 0;

/** The HTTP source with its real dialler and a real secret store in a folder of its own. */
export async function openBench(allowedHosts: string[], resolve?: Resolve): Promise<Bench> {
  const home = await mkdtemp(join(tmpdir(), 'oub-http-'));
  const db = new Database(join(home, 'state.db'));
  const secrets = await sqliteSecrets(db, join(home, 'secret.key'));
  const hide = redactor(secrets);
  const hosts = [...allowedHosts];
  const out = dialler({ settings: () => ({ allowedHosts: hosts }), ...(resolve ? { resolve } : {}) });
  const source = httpSource({ dialler: out, secrets, redactor: hide });
  const tool: Bench['tool'] = (impl, options = {}) =>
    ({
      id: `tool-${count++}`,
      name: 'b_t',
      slug: 't',
      bundleSlug: 'b',
      type: 'http',
      httpImpl: 'request' in impl ? impl : { request: impl },
      argSchema: options.argSchema ?? true,
      ...(options.limits && { limits: options.limits }),
    }) as ToolView;
  return {
    source,
    secrets,
    redactor: hide,
    dialler: out,
    allowedHosts: hosts,
    home,
    tool,
    run: async (impl, args = {}, options = {}) => {
      const properties = Object.fromEntries(Object.keys(args).map((key) => [key, {}]));
      const made = tool(impl, { argSchema: { type: 'object', properties }, ...options });
      await source.check(made);
      const call = {
        signal: options.signal ?? new AbortController().signal,
        progress: (progress: Progress) => options.onProgress?.(progress),
      } as Call;
      return source.run(made, args, call);
    },
    async close() {
      await out.close();
      await db.close();
      await rm(home, { recursive: true });
    },
  };
}

/** A server, a bench that may reach it, and `ask` for `/` of that server; all gone after the tests of the file. */
export async function openPlace(allowedHosts: (server: TestServer) => string[], answer?: TestServer['answer']) {
  const server = await testServer(answer);
  const bench = await openBench(allowedHosts(server));
  after(async () => {
    server.close();
    await bench.close();
  });
  const ask = (
    more: Partial<HttpImpl['request']> = {},
    response?: HttpImpl['response'],
    options: RunOptions = {},
  ): Promise<ToolResult> =>
    bench.run(
      { request: { method: 'GET', urlTemplate: `${server.url}/`, ...more }, ...(response && { response }) },
      {},
      options,
    );
  return { server, bench, ask };
}

export const answerOk: TestServer['answer'] = (_, response) =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":1}');

/** For `assert.rejects`: the failure carries this code. */
export const hasCode =
  (code: string, message?: RegExp) =>
  (error: unknown): boolean => {
    const failure = error as { code?: string; message?: string };
    return failure.code === code && (message === undefined || message.test(failure.message ?? ''));
  };
