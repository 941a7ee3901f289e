import { watch } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { basename, dirname } from 'node:path';
import { lineSplitter } from './line-splitter.ts';

const firstPauseMs = 20;
const longestPauseMs = 1000;
const maxLineBytes = 32 * 1024 * 1024;

export interface Peer {
  /** False when nobody is connected; the message is then lost. */
  send(message: object): boolean;
  close(): void;
}

/**
 * Keeps one connection to a socket of the server, for ever: a server that restarts listens under the same name.
 * Messages are JSON objects, one per line; lines that are none are ignored. The other end is a server of ours: what it
 * says is taken for a Message.
 */
export function keepConnected<Message extends object>(
  path: string,
  onOpen: (peer: Peer) => void,
  onMessage: (message: Message, peer: Peer) => void,
): Peer {
  let socket: Socket | undefined;
  let isOpen = false;
  let isClosed = false;
  let pauseMs = firstPauseMs;
  let timer: NodeJS.Timeout | undefined;

  const peer: Peer = {
    send: (message) => isOpen && (socket!.write(`${JSON.stringify(message)}\n`), true),
    close: () => {
      isClosed = true;
      clearTimeout(timer);
      watcher?.close();
      socket?.destroy();
    },
  };

  const dial = (): void => {
    clearTimeout(timer);
    if (isClosed || socket) return;
    const dialled = connect(path);
    socket = dialled;
    const lines = lineSplitter(
      maxLineBytes,
      (line) => {
        const message = parse(line);
        if (message) onMessage(message as Message, peer);
      },
      () => {},
    );
    dialled.on('connect', () => {
      isOpen = true;
      pauseMs = firstPauseMs;
      onOpen(peer);
    });
    dialled.on('data', (chunk: Buffer) => lines.push(chunk));
    dialled.on('error', () => {});
    dialled.on('close', () => {
      socket = undefined;
      isOpen = false;
      if (isClosed) return;
      timer = setTimeout(dial, pauseMs);
      pauseMs = Math.min(pauseMs * 2, longestPauseMs);
    });
  };

  // A new server is heard of at once; the timer is for file systems that do not tell.
  const watcher = watchQuietly(dirname(path), (name) => {
    if (name === basename(path)) dial();
  });
  dial();
  return peer;
}

function watchQuietly(folder: string, onName: (name: string | null) => void): { close(): void } | undefined {
  try {
    const watcher = watch(folder, (_event, name) => onName(name));
    watcher.on('error', () => {});
    return watcher;
  } catch {
    return undefined;
  }
}

function parse(line: Buffer): object | undefined {
  try {
    const value: unknown = JSON.parse(line.toString('utf8'));
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
