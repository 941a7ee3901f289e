import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Things on the host that a sandbox must not reach, and what the probes call them. */
export interface Outside {
  fill: Record<string, string>;
  /** False when something in a sandbox got at the process that it must not see. */
  isUnharmed(): boolean;
  close(): Promise<void>;
}

export async function outside(): Promise<Outside> {
  const canary = `canary${process.pid}`;
  process.env['OUBLIETTE_TEST_CANARY'] = canary;
  const folder = await mkdtemp(join(tmpdir(), 'oub-outside-'));
  const secret = join(folder, 'secret');
  await writeFile(secret, canary);
  const victim = spawn('/bin/sleep', ['600'], { stdio: 'ignore', env: { CANARY: canary } });
  const tcp = await listening(createServer().listen(0, '127.0.0.1'));
  const abstract = `oub-probe-${process.pid}`;
  const hidden = await listening(createServer().listen(`\0${abstract}`));
  return {
    fill: {
      HOST_SECRET: secret,
      HOST_CANARY: canary,
      HOST_PID: String(victim.pid),
      HOST_ABSTRACT: abstract,
      HOST_PORT: String((tcp.address() as AddressInfo).port),
    },
    isUnharmed: () => (victim.exitCode ?? victim.signalCode) === null,
    async close() {
      victim.kill('SIGKILL');
      tcp.close();
      hidden.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function listening(server: Server): Promise<Server> {
  await once(server, 'listening');
  return server;
}
