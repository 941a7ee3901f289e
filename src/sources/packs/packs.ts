import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../observe/index.ts';
import type { BundleProvider, Handler, Level, OfferedBundle } from '../../schema/index.ts';
import { systemUser } from '../system-user.ts';
import { readDefinition } from './pack-definitions.ts';
import { dropSnapshot, dropStaleSnapshots, scanFolder, takeSnapshot, type PackFile } from './pack-folder.ts';
import { BrokenPack } from './pack-process.ts';
import { PackProcesses, type PackVersion } from './pack-processes.ts';

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
  good?: PackVersion;
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
  // Started as root, packs become somebody who may do nothing.
  const drop = await systemUser(['oubliette', 'nobody']);
  const warnings =
    process.getuid?.() === 0 && !drop ? ['Packs run as root: the system has no user nobody to run them as.'] : [];
  const processes = new PackProcesses(hostPath, drop, log);
  let folderProblem: PackProblem | undefined;
  let looking: Promise<void> | undefined;
  let isClosed = false;

  const retire = (version: PackVersion | undefined): void => {
    if (version) processes.retire(version);
  };

  async function load(file: PackFile): Promise<Pack> {
    if (file.refusedBecause !== undefined) return { file, problem: { file: file.name, message: file.refusedBecause } };
    const snapshot = await takeSnapshot(folder, drop);
    const process = processes.start(snapshot, file.name);
    try {
      const definition = readDefinition(file.slug, await process.load());
      log.info({ span: 'pack.load', pack: file.name, tools: definition.tools.length }, `pack ${file.name} loaded`);
      return { file, good: { name: file.name, definition, snapshot, process, modifiedAt: file.modifiedAt } };
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

  const timer = setInterval(
    () => void lookOnce().catch((error: Error) => log.error({ span: 'pack.look' }, error.message)),
    lookEveryMs,
  );
  timer.unref();
  const resting = setInterval(() => {
    for (const { good } of packs.values()) if (good) processes.rest(good);
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
      const good = packs.get(slug)?.good;
      const level = good?.definition.tools.find((each) => each.slug === tool)?.level;
      const exportName = good?.definition.exports.get(tool);
      if (!good || level === undefined || exportName === undefined) return undefined;
      return {
        level,
        isPublic: true,
        run: (args, call) => processes.run(good, { exportName, level }, args, call),
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
      processes.killAll();
      await Promise.all(loading);
      const snapshots = [...packs.values()].flatMap((pack) => pack.good?.snapshot ?? []);
      await Promise.all([...snapshots.map((path) => dropSnapshot(path)), processes.dropLeft()]);
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
