import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../observe/index.ts';
import {
  fail,
  reaches,
  type BundleProvider,
  type Call,
  type Handler,
  type Level,
  type OfferedBundle,
} from '../../schema/index.ts';
import { systemUser } from '../system-user.ts';
import { readDefinition, type PackDefinition } from './pack-definitions.ts';
import { dropSnapshot, dropStaleSnapshots, scanFolder, takeSnapshot, type PackFile } from './pack-folder.ts';
import { BrokenPack, PackProcess, ProcessEnded } from './pack-process.ts';

export interface PackProblem {
  file: string;
  line?: number;
  message: string;
}

/** The packs folder: each file a bundle, in a process of its own. */
export interface Packs extends BundleProvider {
  /** The function behind `weather.current`; undefined when no pack has it. */
  find(func: string): { level: Level; isPublic: boolean; run: Handler } | undefined;
  /** What is wrong now: files that could not be loaded, and why. */
  problems(): PackProblem[];
  /** What a person should know about how packs run here. */
  warnings(): string[];
  /** Looks at the folder now instead of at the next tick. */
  reload(): Promise<void>;
  close(): Promise<void>;
}

export interface PacksOptions {
  folder: string;
  /** The program in which packs run. */
  hostPath: string;
  log: Logger;
  lookEveryMs?: number;
}

interface Pack {
  file: PackFile;
  /** The last version that could be loaded; absent when none ever could. */
  good?: { definition: PackDefinition; snapshot: string; process: PackProcess | undefined; modifiedAt: string };
  problem?: PackProblem;
}

const idleMs = 300_000;
const startMs = 3_000;

/** Opens the folder and loads what is in it; later changes are seen within a second or so. */
export async function openPacks({ folder, hostPath, log, lookEveryMs = 800 }: PacksOptions): Promise<Packs> {
  const packs = new Map<string, Pack>();
  const listeners = new Set<() => void>();
  /** What the folder holds now; loading it may still be under way. */
  let wanted = new Map<string, PackFile>();
  const loading = new Set<Promise<void>>();
  const alive = new Set<PackProcess>();
  /** Old versions with calls to finish, and the snapshots that go with them. */
  const leaving = new Map<PackProcess, string>();
  // Started as root, packs become somebody who may do nothing.
  const drop = await systemUser(['oubliette', 'nobody']);
  const warnings =
    process.getuid?.() === 0 && !drop ? ['Packs run as root: the system has no user nobody to run them as.'] : [];
  let folderProblem: PackProblem | undefined;
  let looking: Promise<void> | undefined;
  let isClosed = false;

  function start(snapshot: string, name: string): PackProcess {
    const started = new PackProcess({
      hostPath,
      folder: snapshot,
      file: join(snapshot, name),
      ...(drop && { drop }),
      onOutput: (text) => log.info({ span: 'pack.output', pack: name }, text.trimEnd().slice(0, 2_000)),
      onExit: (process) => {
        alive.delete(process);
        const left = leaving.get(process);
        leaving.delete(process);
        if (left !== undefined) void dropSnapshot(left).catch(() => {});
      },
    });
    alive.add(started);
    return started;
  }

  const retire = (good: Pack['good']): void => {
    if (!good) return;
    if (!good.process || good.process.isGone) return void dropSnapshot(good.snapshot).catch(() => {});
    leaving.set(good.process, good.snapshot);
    good.process.retire();
  };

  async function load(file: PackFile): Promise<Pack> {
    if (file.refusedBecause !== undefined) return { file, problem: { file: file.name, message: file.refusedBecause } };
    const snapshot = await takeSnapshot(folder, drop);
    const process = start(snapshot, file.name);
    try {
      const definition = readDefinition(file.slug, await process.load());
      log.info({ span: 'pack.load', pack: file.name, tools: definition.tools.length }, `pack ${file.name} loaded`);
      return { file, good: { definition, snapshot, process, modifiedAt: file.modifiedAt } };
    } catch (error) {
      process.kill();
      await dropSnapshot(snapshot);
      const { message } = error as Error;
      const line = error instanceof BrokenPack ? error.line : undefined;
      log.warn(
        { span: 'pack.broken', pack: file.name, ...(line !== undefined && { line }) },
        `pack ${placed(file.name, line)}: ${message}`,
      );
      return { file, problem: { file: file.name, message, ...(line !== undefined && { line }) } };
    }
  }

  /** Takes what was loaded, unless the file changed again meanwhile; a broken one leaves the last good version in place. */
  async function take(file: PackFile): Promise<void> {
    const loaded = await load(file);
    const isWanted = wanted.get(file.slug)?.signature === file.signature;
    if (isClosed || !isWanted) return retire(loaded.good);
    const before = packs.get(file.slug)?.good;
    if (loaded.good) retire(before);
    packs.set(file.slug, loaded.good || !before ? loaded : { ...loaded, good: before });
    tell();
  }

  async function look(): Promise<void> {
    const view = await scanFolder(folder);
    const isFolderChanged = noteFolder(view.refusedBecause);
    const before = wanted;
    wanted = new Map(view.files.toReversed().map((file) => [file.slug, file]));
    let isGone = false;
    for (const [slug, pack] of packs)
      if (!wanted.has(slug)) {
        packs.delete(slug);
        retire(pack.good);
        isGone = true;
      }
    if (isGone || isFolderChanged) tell();
    for (const file of wanted.values()) {
      if (before.get(file.slug)?.signature === file.signature) continue;
      const taking = take(file).finally(() => loading.delete(taking));
      loading.add(taking);
    }
  }

  function noteFolder(refusedBecause: string | undefined): boolean {
    if (folderProblem?.message === refusedBecause) return false;
    folderProblem = refusedBecause === undefined ? undefined : { file: folder, message: refusedBecause };
    if (folderProblem) log.warn({ span: 'pack.folder' }, folderProblem.message);
    return true;
  }

  const tell = (): void => listeners.forEach((listener) => listener());
  const lookOnce = (): Promise<void> => (looking ??= look().finally(() => (looking = undefined)));
  const reload = async (): Promise<void> => {
    await lookOnce();
    await Promise.all(loading);
  };

  /** The process of a pack, started again if it was ended. */
  async function processOf(good: NonNullable<Pack['good']>, name: string): Promise<PackProcess> {
    if (good.process?.isUsable) return good.process;
    const fresh = start(good.snapshot, name);
    good.process = fresh;
    await fresh.load();
    return fresh;
  }

  const starting = new Map<NonNullable<Pack['good']>, Promise<PackProcess>>();
  function started(good: NonNullable<Pack['good']>, name: string): Promise<PackProcess> | PackProcess {
    if (good.process?.isUsable && !starting.has(good)) return good.process;
    let promise = starting.get(good);
    if (!promise) starting.set(good, (promise = processOf(good, name).finally(() => starting.delete(good))));
    return promise;
  }

  async function run(
    pack: Pack,
    exportName: string,
    level: Level,
    args: Record<string, unknown>,
    call: Call,
  ): Promise<unknown> {
    const { good } = pack;
    if (!good) throw fail('tool.failed', { reason: `${pack.file.name} could not be loaded.` });
    for (let tried = 1; ; tried++) {
      try {
        const process = await started(good, pack.file.name);
        if (await process.isResponsive()) return await process.run(exportName, args, call);
        // Stuck in another call, which has its own deadline; this one gets a fresh process.
        process.retire();
        tried--;
      } catch (error) {
        if (!(error instanceof ProcessEnded)) throw error;
        // Somebody else's endless loop took the process away: what only reads can simply be run again.
        const mayRepeat = !reaches(level, 'write') && tried < 3 && !call.signal.aborted;
        if (!mayRepeat) throw fail('tool.failed', { reason: error.message }, { retryable: true });
      }
    }
  }

  const timer = setInterval(
    () => void lookOnce().catch((error: Error) => log.error({ span: 'pack.look' }, error.message)),
    lookEveryMs,
  );
  timer.unref();
  const resting = setInterval(() => {
    for (const { good } of packs.values())
      if (good?.process && !good.process.isBusy) {
        good.process.kill();
        good.process = undefined;
      }
  }, idleMs);
  resting.unref();
  await dropStaleSnapshots();
  // A pack that hangs while it is loaded must not hold up the server.
  await Promise.race([reload(), sleep(startMs, undefined, { ref: false })]);

  return {
    bundles: () => [...packs.values()].map(offered),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    find(func) {
      const [slug, tool] = splitOnce(func);
      const pack = packs.get(slug);
      const found = pack?.good?.definition.tools.find((each) => each.slug === tool);
      const exportName = pack?.good?.definition.exports.get(tool);
      if (!pack || !found || exportName === undefined) return undefined;
      return {
        level: found.level,
        isPublic: true,
        run: (args, call) => run(pack, exportName, found.level, args, call),
      };
    },
    problems: () => [
      ...(folderProblem ? [folderProblem] : []),
      ...[...packs.values()].flatMap((pack) => pack.problem ?? []),
    ],
    warnings: () => warnings,
    reload,
    async close() {
      isClosed = true;
      clearInterval(timer);
      clearInterval(resting);
      await looking?.catch(() => {});
      for (const process of alive) process.kill();
      await Promise.all(loading);
      const snapshots = [...packs.values()].flatMap((pack) => pack.good?.snapshot ?? []);
      await Promise.all([...snapshots, ...leaving.values()].map((path) => dropSnapshot(path)));
    },
  };
}

function offered({ file, good, problem }: Pack): OfferedBundle {
  const base = { slug: file.slug, kind: 'pack' as const, modifiedAt: good?.modifiedAt ?? file.modifiedAt };
  if (!good)
    return {
      ...base,
      displayName: file.slug,
      tools: [],
      disabledReason: `${placed(file.name, problem?.line)}: ${problem?.message ?? 'not loaded'}`,
    };
  const { displayName, description, tools } = good.definition;
  return {
    ...base,
    displayName,
    ...(description !== undefined && { description }),
    tools,
  };
}

const placed = (name: string, line: number | undefined): string => (line === undefined ? name : `${name}:${line}`);

function splitOnce(func: string): [string, string] {
  const at = func.indexOf('.');
  return at === -1 ? [func, ''] : [func.slice(0, at), func.slice(at + 1)];
}
