import type { Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import {
  agreeOnVersion,
  controlSocketName,
  isObject,
  supervisorVersions,
  type SupervisorCommand,
  type ToSupervisor,
} from '../schema/index.ts';
import { listenInside } from './listen-inside.ts';
import type { LinkOptions, SpoolRecord, SupervisorLink } from './link.ts';
import { spoolReader } from './spool-reader.ts';

const slowPollMs = 2000;
const beatMs = 30_000;
const recordCost = 512;
const defaultCostPerSecond = 8 * 1024 * 1024;
const burstSeconds = 4;

/**
 * Listens for the supervisor of one session and reads its spool. Fails with sandbox.failed when the socket's path
 * is too long or cannot be made.
 */
export async function openLink(options: LinkOptions): Promise<SupervisorLink> {
  const reader = spoolReader(options.spool, options.from);
  const outbox = new Map((options.outbox ?? []).map((command) => [command.id, command]));
  const agreed = new Set<Socket>();
  let stored = options.from;
  let heardAt = 0;
  let isEnded = false;
  let isClosed = false;
  let isWoken = false;
  let wakeUp: (() => void) | undefined;

  const wake = (): void => {
    isWoken = true;
    wakeUp?.();
  };
  const say = (socket: Socket, message: ToSupervisor): void => void socket.write(`${JSON.stringify(message)}\n`);
  const sayAll = (message: ToSupervisor): void => agreed.forEach((socket) => say(socket, message));

  const greet = (socket: Socket, versions: number[]): void => {
    const v = agreeOnVersion(versions, supervisorVersions);
    if (agreed.has(socket)) return;
    if (v === undefined) return options.onIncompatible?.(versions);
    agreed.add(socket);
    say(socket, { hello: { v, session: options.session, offset: stored } });
    for (const command of outbox.values()) say(socket, { command });
    options.onConnect?.();
  };

  // The agent can dial this socket as well. All it wins is a copy of what it is told anyway: every message goes to
  // every connection, so that it can take nothing away from the supervisor.
  const listener = await listenInside(join(options.mcp, controlSocketName), {
    onMessage(message, socket) {
      heardAt = Date.now();
      const hello = message['hello'];
      if (isObject(hello) && Array.isArray(hello['v'])) greet(socket, hello['v'].filter(Number.isInteger));
      wake();
    },
    onClose: (socket) => void agreed.delete(socket),
  });
  const beat = setInterval(() => sayAll({ ack: stored }), beatMs);
  beat.unref();

  const sleep = (): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, slowPollMs);
      wakeUp = () => {
        clearTimeout(timer);
        resolve();
      };
    });

  // An agent that floods is read slowly, then paused by its full spool: other sessions need this thread too.
  const rate = options.costPerSecond ?? defaultCostPerSecond;
  let credit = rate * burstSeconds;
  let creditAt = performance.now();
  const spend = async (batch: SpoolRecord[]): Promise<void> => {
    const now = performance.now();
    credit = Math.min(credit + ((now - creditAt) / 1000) * rate, rate * burstSeconds);
    creditAt = now;
    // What was skipped was not read.
    for (const { kind, offset, next } of batch) credit -= recordCost + (kind === 'garbled' ? 0 : next - offset);
    if (credit < 0) await pause((-credit / rate) * 1000, undefined, { ref: false });
  };

  async function* records(): AsyncGenerator<SpoolRecord[]> {
    while (!isClosed) {
      isWoken = false;
      const wasEnded = isEnded;
      const batch = await reader.read();
      if (batch.length > 0) {
        for (const record of batch) if (record.kind === 'done') outbox.delete(record.id);
        yield batch;
        await spend(batch);
        stored = reader.offset;
        sayAll({ ack: stored });
      } else if (wasEnded) return;
      else if (!isWoken && !isClosed) await sleep();
    }
  }

  return {
    records,
    send(command: SupervisorCommand) {
      outbox.set(command.id, command);
      sayAll({ command });
    },
    get connected() {
      return agreed.size > 0;
    },
    get heardAt() {
      return heardAt;
    },
    ended() {
      isEnded = true;
      wake();
    },
    async close() {
      isClosed = true;
      wake();
      clearInterval(beat);
      await listener.close();
      await reader.close();
    },
  };
}
