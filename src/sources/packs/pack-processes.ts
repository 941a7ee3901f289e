import { join } from 'node:path';
import type { Logger } from '../../observe/index.ts';
import { fail, reaches, type Call, type Level } from '../../schema/index.ts';
import type { SystemUser } from '../system-user.ts';
import type { PackDefinition } from './pack-definitions.ts';
import { dropSnapshot } from './pack-folder.ts';
import { PackProcess, ProcessEnded } from './pack-process.ts';

/** One version of a pack that could be loaded, with the files it was loaded from. */
export interface PackVersion {
  /** The name of its file. */
  name: string;
  definition: PackDefinition;
  snapshot: string;
  /** Absent while it rests. */
  process: PackProcess | undefined;
  modifiedAt: string;
}

/** A tool of a pack, as its process knows it. */
export interface PackFunction {
  exportName: string;
  level: Level;
}

const mostTries = 3;

/** The processes of all packs. An old version lives on until its calls are finished; then its files go. */
export class PackProcesses {
  readonly #hostPath: string;
  readonly #user: SystemUser | undefined;
  readonly #log: Logger;
  readonly #alive = new Set<PackProcess>();
  /** Old versions with calls to finish, and the snapshots that go with them. */
  readonly #leaving = new Map<PackProcess, string>();
  readonly #starting = new Map<PackVersion, Promise<PackProcess>>();

  constructor(hostPath: string, user: SystemUser | undefined, log: Logger) {
    this.#hostPath = hostPath;
    this.#user = user;
    this.#log = log;
  }

  start(snapshot: string, name: string): PackProcess {
    const started = new PackProcess({
      hostPath: this.#hostPath,
      folder: snapshot,
      file: join(snapshot, name),
      ...(this.#user && { drop: this.#user }),
      onOutput: (text) => this.#log.info({ span: 'pack.output', pack: name }, text.trimEnd().slice(0, 2_000)),
      onExit: (process) => {
        this.#alive.delete(process);
        const left = this.#leaving.get(process);
        this.#leaving.delete(process);
        if (left !== undefined) void dropSnapshot(left).catch(() => {});
      },
    });
    this.#alive.add(started);
    return started;
  }

  /** Takes no more calls for this version; its files go with its last one. */
  retire({ process, snapshot }: PackVersion): void {
    if (!process || process.isGone) return void dropSnapshot(snapshot).catch(() => {});
    this.#leaving.set(process, snapshot);
    process.retire();
  }

  /** Ends a process that nobody uses; the next call starts another one. */
  rest(version: PackVersion): void {
    if (!version.process || version.process.isBusy) return;
    version.process.kill();
    version.process = undefined;
  }

  async run(
    version: PackVersion,
    { exportName, level }: PackFunction,
    args: Record<string, unknown>,
    call: Call,
  ): Promise<unknown> {
    for (let tried = 1; ; tried++) {
      try {
        const process = await this.#usable(version);
        if (await process.isResponsive()) return await process.run(exportName, args, call);
        // Stuck in another call, which has its own deadline; this one gets a fresh process.
        process.retire();
        tried--;
      } catch (error) {
        if (!(error instanceof ProcessEnded)) throw error;
        // Somebody else's endless loop took the process away: what only reads can simply be run again.
        const mayRepeat = !reaches(level, 'write') && tried < mostTries && !call.signal.aborted;
        if (!mayRepeat) throw fail('tool.failed', { reason: error.message }, { retryable: true });
      }
    }
  }

  /** The process of a version; calls that come while it is being started share that start. */
  #usable(version: PackVersion): Promise<PackProcess> | PackProcess {
    const starting = this.#starting.get(version);
    if (starting) return starting;
    if (version.process?.isUsable) return version.process;
    const started = this.#restart(version).finally(() => this.#starting.delete(version));
    this.#starting.set(version, started);
    return started;
  }

  async #restart(version: PackVersion): Promise<PackProcess> {
    const fresh = this.start(version.snapshot, version.name);
    version.process = fresh;
    await fresh.load();
    return fresh;
  }

  killAll(): void {
    for (const process of this.#alive) process.kill();
  }

  /** Removes the files of old versions that were not finished. */
  async dropLeft(): Promise<void> {
    await Promise.all([...this.#leaving.values()].map((path) => dropSnapshot(path)));
  }
}
