import { setTimeout as pause } from 'node:timers/promises';
import { asFailure, fail } from '../../schema/index.ts';
import { defaultDiskMb } from '../defaults.ts';
import { diskGuard } from '../disk-guard.ts';
import type { Probe, Sandbox, SandboxDriver, SandboxSpec } from '../driver.ts';
import { execChannels } from '../exec-channel.ts';
import { tailOf } from '../log-tail.ts';
import { prepareFolders } from '../sandbox-user.ts';
import { containerBody, labelFilter, type ContainerFacts } from './container-spec.ts';
import { describeContainer, publicly, type Container, type DescribedContainer } from './container-state.ts';
import { engineClient, type EngineClient } from './engine-client.ts';
import { engineSockets } from './find-engine.ts';
import { engineImages } from './engine-images.ts';
import { demultiplex } from './log-frames.ts';
import { probeEngine, type EngineFacts } from './probe.ts';
import { podmanProfile } from './seccomp-profile.ts';

export interface EngineOptions {
  name: 'docker' | 'podman';
  /** Instead of DOCKER_HOST, CONTAINER_HOST and the usual places. */
  sockets?: string[];
  /** Folder for files that the engine is pointed at; private to us. */
  folder: string;
  /** Shortest time between two looks at how much a sandbox has written. */
  diskPauseMs?: number;
}

/** Sandboxes as containers of Docker or podman, through the engine's API. */
export function engineDriver(options: EngineOptions): SandboxDriver {
  const { name } = options;
  const channels = execChannels();
  const guard = diskGuard(options.diskPauseMs);
  /** Why we killed one; engines only know that it was killed. */
  const reasons = new Map<string, string>();
  let connection: Promise<{ client: EngineClient; facts: EngineFacts }> | undefined;
  let profile: Promise<string> | undefined;
  const closing = new AbortController();

  const connect = async (): Promise<{ client: EngineClient; facts: EngineFacts }> => {
    const notes: string[] = [];
    for (const socket of options.sockets ?? (await engineSockets(name))) {
      const client = engineClient(socket);
      try {
        const facts = await probeEngine(client);
        if (facts.name === name) return { client, facts };
        notes.push(`${socket} is ${facts.name}, not ${name}`);
      } catch (error) {
        notes.push(asFailure(error).message);
      }
      client.close();
    }
    throw fail('sandbox.unavailable', { reason: notes.join('; ') || `no socket of ${name} was found` });
  };
  const engine = (): Promise<{ client: EngineClient; facts: EngineFacts }> => {
    connection ??= connect();
    connection.catch(() => (connection = undefined));
    return connection;
  };
  const ask: EngineClient['ask'] = async (path, request) => (await engine()).client.ask(path, request);
  const images = engineImages(name, ask);
  const containerOf = (id: string): string => `/containers/oubliette-${encodeURIComponent(id)}`;

  const inspect = async (id: string): Promise<Container | undefined> => {
    const answer = await ask(`${containerOf(id)}/json`, { allow: [404] });
    return answer.status === 404 ? undefined : (answer.json() as Container);
  };
  const describe = (container: Container): DescribedContainer => describeContainer(container, name, reasons);

  const kill = (id: string): Promise<unknown> =>
    ask(`${containerOf(id)}/kill`, { method: 'POST', query: { signal: 'KILL' }, allow: [404, 409] });
  const watchDisk = (id: string, facts: ContainerFacts): void =>
    guard.watch(id, [facts.workspace, facts.spool], facts.diskMb, () => {
      reasons.set(id, 'disk full');
      kill(id).catch(() => {});
    });

  const start = async (spec: SandboxSpec): Promise<Sandbox> => {
    const { facts } = await engine();
    if (spec.level === 'strict' && facts.missing.length > 0)
      throw fail('sandbox.unavailable', {
        reason: `${name} here lacks what level strict asks for: ${facts.missing.join(', ')}`,
      });
    const image = await images.find(spec.image);
    await prepareFolders(spec);
    const kept: ContainerFacts = {
      mcp: spec.mcp,
      workspace: spec.workspace,
      spool: spec.spool,
      diskMb: spec.limits.diskMb ?? defaultDiskMb,
      missing: facts.missing,
    };
    const body = containerBody(spec, image, kept, {
      isRootlessPodman: facts.isRootless && name === 'podman',
      ...(name === 'podman' ? { seccompFile: await (profile ??= podmanProfile(options.folder)) } : {}),
    });
    await ask('/containers/create', { method: 'POST', query: { name: `oubliette-${spec.id}` }, body });
    try {
      await ask(`${containerOf(spec.id)}/start`, { method: 'POST' });
    } catch (error) {
      await remove(spec.id).catch(() => {});
      throw error;
    }
    watchDisk(spec.id, kept);
    const container = await inspect(spec.id);
    if (!container) throw fail('sandbox.failed', { reason: 'the container was removed while it started' });
    return publicly(describe(container));
  };

  const forget = async (id: string): Promise<void> => {
    guard.unwatch(id);
    const container = await inspect(id);
    const mcp = container && describe(container).facts?.mcp;
    if (mcp) await channels.drop(mcp);
  };
  const remove = async (id: string): Promise<void> => {
    await forget(id);
    for (let attempt = 0; attempt < 100; attempt++) {
      const { status } = await ask(containerOf(id), {
        method: 'DELETE',
        query: { force: 'true', v: 'true' },
        allow: [404, 409],
      });
      reasons.delete(id);
      if (status !== 409) return;
      // Another removal is under way.
      await pause(50);
    }
    throw fail('sandbox.failed', { reason: `container ${id} cannot be removed` });
  };

  return {
    name,
    async probe(fresh = false): Promise<Probe> {
      if (fresh) {
        (await connection?.catch(() => undefined))?.client.close();
        connection = undefined;
      }
      try {
        const { client, facts } = await engine();
        return {
          driver: name,
          available: true,
          notes: facts.notes,
          version: facts.version,
          where: client.socket,
          level: facts.missing.length > 0 ? 'basic' : 'strict',
          missing: facts.missing,
        };
      } catch (error) {
        return { driver: name, available: false, notes: [asFailure(error).message], missing: [] };
      }
    },
    start,
    async stop(id, graceMs = 5000) {
      const query = { t: String(Math.ceil(graceMs / 1000)) };
      await ask(`${containerOf(id)}/stop`, { method: 'POST', query, allow: [304, 404], timeoutMs: graceMs + 30_000 });
      await forget(id);
    },
    remove,
    async get(id) {
      const container = await inspect(id);
      return container && publicly(describe(container));
    },
    async list(labels = {}) {
      const rows = (await ask('/containers/json', { query: { all: 'true', filters: labelFilter(labels) } })).json() as {
        Id: string;
      }[];
      const all = await Promise.all(rows.map((row) => ask(`/containers/${row.Id}/json`, { allow: [404] })));
      return all
        .filter((answer) => answer.status !== 404)
        .map((answer) => {
          const sandbox = describe(answer.json() as Container);
          if (sandbox.status === 'running' && sandbox.facts) watchDisk(sandbox.id, sandbox.facts);
          return publicly(sandbox);
        });
    },
    async wait(id, abort) {
      const signal = abort ? AbortSignal.any([abort, closing.signal]) : closing.signal;
      for (;;) {
        const query = { condition: 'not-running' };
        const answer = await ask(`${containerOf(id)}/wait`, {
          method: 'POST',
          query,
          allow: [404],
          timeoutMs: null,
          signal,
        }).catch((error: unknown) => {
          if (signal.aborted) throw error;
          return undefined;
        });
        const container = answer?.status === 404 ? undefined : await inspect(id).catch(() => 'unknown' as const);
        if (container === undefined) return { exitCode: null };
        const sandbox = container === 'unknown' ? undefined : describe(container);
        if (sandbox?.status === 'exited')
          return { exitCode: sandbox.exitCode ?? null, ...(sandbox.reason ? { reason: sandbox.reason } : {}) };
        // The engine is gone or was restarted: the container may still run.
        await pause(1000, undefined, { signal });
      }
    },
    async exec(id, spec) {
      const container = await inspect(id);
      const sandbox = container && describe(container);
      if (sandbox?.status !== 'running' || !sandbox.facts)
        throw fail('sandbox.failed', { reason: `sandbox ${id} is not running` });
      return channels.exec(sandbox.facts.mcp, spec);
    },
    async logs(id, tail) {
      const query = { stdout: 'true', stderr: 'true', tail: String(tail) };
      const answer = await ask(`${containerOf(id)}/logs`, { query, allow: [404] });
      return answer.status === 404 ? '' : tailOf(demultiplex(answer.bytes), tail);
    },
    buildBase: images.buildBase,
    buildImage: images.buildImage,
    hasImage: images.has,
    async close() {
      closing.abort();
      guard.close();
      await channels.close();
      (await connection?.catch(() => undefined))?.client.close();
    },
  };
}
