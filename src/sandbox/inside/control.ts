import { agreeOnVersion, supervisorVersions, type FromSupervisor, type ToSupervisor } from '../../schema/supervisor.ts';
import type { AgentProcess } from './agent-process.ts';
import { keepConnected } from './reconnect.ts';
import type { SpoolWriter } from './spool-writer.ts';

export interface Control {
  /** Wakes the server: the spool has grown. */
  wake(): void;
  /** When a server was last heard of, in ms of the monotonic clock. */
  readonly heardAt: number;
}

/** Greets every server that listens, takes its commands and tells it how far the spool reaches. */
export function controlConnection(path: string, session: string, spool: SpoolWriter, agent: AgentProcess): Control {
  let heardAt = performance.now();
  let isAgreed = false;
  const peer = keepConnected(
    path,
    () => {
      isAgreed = false;
      tell({ hello: { v: [...supervisorVersions], session, offset: spool.end, running: agent.running } });
    },
    (message: ToSupervisor) => {
      heardAt = performance.now();
      if ('hello' in message) isAgreed = agreeOnVersion([message.hello.v]) !== undefined;
      if (!isAgreed) return;
      if ('hello' in message) acknowledge(message.hello.offset);
      else if ('ack' in message) acknowledge(message.ack);
      else if ('command' in message) agent.carryOut(message.command);
    },
  );
  const tell = (message: FromSupervisor): void => void peer.send(message);
  const acknowledge = (offset: unknown): void => {
    if (!Number.isSafeInteger(offset)) return;
    spool.ack(offset as number);
    agent.heedSpool();
  };
  return {
    wake: () => void (isAgreed && tell({ at: spool.end })),
    get heardAt() {
      return heardAt;
    },
  };
}
