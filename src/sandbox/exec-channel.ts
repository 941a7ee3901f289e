import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { execSocketName, fail, insidePaths, textOf } from '../schema/index.ts';
import type { ExecResult, ExecSpec } from './driver.ts';
import { listenInside, type InsideListener } from './listen-inside.ts';

const connectWithinMs = 10_000;
const graceMs = 5_000;
const maxAnswerBytes = 64 * 1024 * 1024;

/** Runs commands in sandboxes by asking their supervisors, so that they have exactly the agent's closure and limits. */
export interface ExecChannels {
  exec(mcp: string, spec: ExecSpec): Promise<ExecResult>;
  /** No more commands for this sandbox: what runs fails at once. */
  drop(mcp: string): Promise<void>;
  close(): Promise<void>;
}

/** What should be a FromExec: whoever took over the inside of a sandbox may answer anything. */
type Answer = Record<string, unknown>;

interface Channel {
  listener: InsideListener;
  sockets: Set<Socket>;
  waiting: Map<string, { socket: Socket; settle: (answer: Answer | undefined) => void }>;
  onSocket: Set<() => void>;
}

export function execChannels(): ExecChannels {
  const channels = new Map<string, Promise<Channel>>();

  const channelOf = (mcp: string): Promise<Channel> => {
    let channel = channels.get(mcp);
    if (!channel) {
      channel = openChannel(mcp);
      channels.set(mcp, channel);
      channel.catch(() => channels.delete(mcp));
    }
    return channel;
  };
  const drop = async (mcp: string): Promise<void> => {
    const channel = await channels.get(mcp)?.catch(() => undefined);
    channels.delete(mcp);
    await channel?.listener.close();
  };

  return {
    drop,
    close: async () => void (await Promise.all([...channels.keys()].map(drop))),
    async exec(mcp, spec) {
      const channel = await channelOf(mcp);
      const socket = await firstSocket(channel, Math.min(connectWithinMs, spec.timeoutMs));
      const id = randomUUID();
      const answer = await ask(channel, socket, id, spec);
      if (answer === undefined) throw fail('sandbox.failed', { reason: 'it ended before the command did' });
      if (answer === 'late') return { exit_code: null, stdout: '', stderr: '', timed_out: true, truncated: false };
      if (answer['error']) throw fail('sandbox.failed', { reason: textOf(answer['error']) }, { retryable: false });
      return {
        exit_code: typeof answer['exit_code'] === 'number' ? answer['exit_code'] : null,
        stdout: textOf(answer['stdout']),
        stderr: textOf(answer['stderr']),
        timed_out: answer['timed_out'] === true,
        truncated: answer['truncated'] === true,
      };
    },
  };
}

async function openChannel(mcp: string): Promise<Channel> {
  const sockets: Channel['sockets'] = new Set();
  const waiting: Channel['waiting'] = new Map();
  const onSocket: Channel['onSocket'] = new Set();
  const listener = await listenInside(
    join(mcp, execSocketName),
    {
      onOpen(socket) {
        sockets.add(socket);
        onSocket.forEach((listen) => listen());
      },
      onMessage: (message, socket) => {
        const request = waiting.get(message['id'] as string);
        if (request?.socket === socket) request.settle(message);
      },
      onClose(socket) {
        sockets.delete(socket);
        for (const request of waiting.values()) if (request.socket === socket) request.settle(undefined);
      },
    },
    maxAnswerBytes,
  );
  return { listener, sockets, waiting, onSocket };
}

function firstSocket(channel: Channel, withinMs: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const look = (): void => {
      const [socket] = channel.sockets;
      if (!socket) return;
      clearTimeout(timer);
      channel.onSocket.delete(look);
      resolve(socket);
    };
    const timer = setTimeout(() => {
      channel.onSocket.delete(look);
      reject(fail('sandbox.failed', { reason: 'its supervisor does not answer' }));
    }, withinMs);
    channel.onSocket.add(look);
    look();
  });
}

function ask(channel: Channel, socket: Socket, id: string, spec: ExecSpec): Promise<Answer | 'late' | undefined> {
  const { signal, command, env = {}, workdir = insidePaths.workspace, timeoutMs, maxBytes, stdin } = spec;
  return new Promise((resolve) => {
    const settle = (answer: Answer | 'late' | undefined): void => {
      channel.waiting.delete(id);
      clearTimeout(timer);
      signal?.removeEventListener('abort', cancel);
      resolve(answer);
    };
    const cancel = (): void => void socket.write(`${JSON.stringify({ cancel: id })}\n`);
    const timer = setTimeout(() => settle('late'), timeoutMs + graceMs);
    channel.waiting.set(id, { socket, settle });
    signal?.addEventListener('abort', cancel);
    socket.write(`${JSON.stringify({ exec: { id, command, env, workdir, timeoutMs, maxBytes, stdin } })}\n`);
    if (signal?.aborted) cancel();
  });
}
