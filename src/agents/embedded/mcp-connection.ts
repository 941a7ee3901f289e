import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { isObject, numberOf, textOf } from '../../schema/json.ts';

const startWithinMs = 30_000;

/** One MCP server on stdio. Rejections carry the server's own words. */
export interface McpConnection {
  request(method: string, params: object, signal?: AbortSignal): Promise<Record<string, unknown>>;
  close(): void;
}

/**
 * Starts an MCP server and greets it. Written out, because the few messages an agent needs are few, and loading the
 * whole client library would be the largest part of the time until the agent's first word.
 */
export async function connectMcp(command: string, args: string[], env: NodeJS.ProcessEnv): Promise<McpConnection> {
  const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'inherit'] });
  const waiting = new Map<number, { resolve(result: Record<string, unknown>): void; reject(error: Error): void }>();
  let nextId = 0;
  let ending: Error | undefined;

  const end = (reason: string): void => {
    ending ??= new Error(reason);
    for (const { reject } of waiting.values()) reject(ending);
    waiting.clear();
  };
  const send = (message: object): void => void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  child.stdin.on('error', () => {});
  child.on('error', (error) => end(error.message));
  child.on('exit', (code, signal) => end(`the MCP server ended with ${signal ?? code}`));
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = parse(line);
    if (!message) return;
    const { id, method, result, error } = message;
    if (typeof method === 'string') {
      if (id !== undefined)
        send(
          method === 'ping' ? { id, result: {} } : { id, error: { code: -32601, message: `${method} is not offered` } },
        );
      return;
    }
    const asked = waiting.get(numberOf(id));
    waiting.delete(numberOf(id));
    if (isObject(error)) asked?.reject(new Error(textOf(error['message']) || 'unknown error'));
    else asked?.resolve(isObject(result) ? result : {});
  });

  const request: McpConnection['request'] = (method, params, signal) =>
    new Promise((resolve, reject) => {
      if (ending) return reject(ending);
      const id = ++nextId;
      const cancel = (): void => {
        if (!waiting.delete(id)) return;
        send({ method: 'notifications/cancelled', params: { requestId: id, reason: 'cancelled' } });
        reject(signal!.reason as Error);
      };
      const settled = (): void => signal?.removeEventListener('abort', cancel);
      waiting.set(id, {
        resolve: (result) => (settled(), resolve(result)),
        reject: (error) => (settled(), reject(error)),
      });
      signal?.addEventListener('abort', cancel, { once: true });
      send({ id, method, params });
      if (signal?.aborted) cancel();
      return undefined;
    });
  const close = (): void => {
    child.stdin.end();
    child.kill('SIGTERM');
  };

  try {
    const clientInfo = { name: 'oubliette-embedded-agent', version: '1' };
    await request(
      'initialize',
      { protocolVersion: '2025-11-25', capabilities: {}, clientInfo },
      AbortSignal.timeout(startWithinMs),
    );
    send({ method: 'notifications/initialized' });
  } catch (error) {
    close();
    throw error;
  }
  return { request, close };
}

function parse(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
