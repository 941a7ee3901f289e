import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface RawRelay {
  socket: Socket;
  /** Everything that came, in order. */
  messages: any[];
  /** Sends one request and answers its response. */
  ask(method: string, params?: unknown, id?: unknown): Promise<any>;
  send(text: string): void;
  /** The first message that fits, now or later. */
  next(fits: (message: any) => boolean): Promise<any>;
  close(): void;
}

/** A client of a session's socket that says just what a test tells it to. */
export async function rawRelay(path: string): Promise<RawRelay> {
  const socket = connect(path);
  await once(socket, 'connect');
  const messages: any[] = [];
  const waiting = new Set<() => void>();
  let rest = '';
  let count = 0;
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop()!;
    for (const line of lines) messages.push(JSON.parse(line));
    for (const wake of waiting) wake();
  });
  socket.on('error', () => {});
  const next = (fits: (message: any) => boolean): Promise<any> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`nothing fits among ${JSON.stringify(messages).slice(0, 2000)}`)),
        120_000,
      ).unref();
      const look = (): void => {
        const found = messages.find(fits);
        if (found === undefined) return;
        clearTimeout(timer);
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      look();
    });
  return {
    socket,
    messages,
    next,
    send: (text) => void socket.write(text),
    async ask(method, params = {}, id = `t${++count}`) {
      socket.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
      return next((message) => message.id === id && message.method === undefined);
    },
    close: () => socket.destroy(),
  };
}
