import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer, type RunningServer, type ServerOptions } from '../../src/main.ts';

export interface TestServer extends RunningServer {
  home: string;
  token: string;
  /** A request as the admin unless other headers say so; answers status and parsed body. */
  ask(
    method: string,
    path: string,
    body?: unknown,
    token?: string | null,
  ): Promise<{ status: number; body: any; headers: Headers }>;
  /** Calls a tool by name; answers the whole body. */
  call(name: string, args?: Record<string, unknown>, token?: string): Promise<any>;
  /** Stops it and removes its home. */
  remove(): Promise<void>;
}

/** A real server in this process, on any free port and a home of its own. */
export async function testServer(options: Partial<ServerOptions> & { config?: string } = {}): Promise<TestServer> {
  const home = options.home ?? (await mkdtemp(join(tmpdir(), 'oub-')));
  if (options.config !== undefined) await writeFile(join(home, 'config.yaml'), options.config);
  const server = await startServer({ port: 0, host: '127.0.0.1', logLevel: 'warn', ...options, home });
  const admin = (await readFile(join(home, 'admin.token'), 'utf8')).trim();
  const ask: TestServer['ask'] = async (method, path, body, token = admin) => {
    const response = await fetch(server.url + path, {
      method,
      headers: {
        ...(token !== null && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? undefined : parsed(text), headers: response.headers };
  };
  return {
    ...server,
    home,
    token: admin,
    ask,
    call: async (name, args = {}, token) => (await ask('POST', `/call/${name}`, { args }, token)).body,
    async remove() {
      await server.close();
      await rm(home, { recursive: true, force: true });
    },
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
