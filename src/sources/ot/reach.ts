import { setImmediate as turn } from 'node:timers/promises';
import type { FunctionInfo } from '../../code/index.ts';
import {
  reaches,
  type Actor,
  type Directory,
  type PackEntry,
  type Settings,
  type ToolView,
} from '../../schema/index.ts';
import { infoOf } from '../script/catalog-world.ts';

/** A tool as `ot` speaks of it. */
export interface Listed {
  /** `brave.search`. */
  name: string;
  pack: PackEntry;
  view: ToolView;
  info: FunctionInfo;
}

/** Catalogs with more tools than this are counted without reading every one. */
const countedWhole = 2000;

/** The tool behind a function, if the actor may call it. */
export async function listedTool(
  directory: Directory,
  actor: Actor,
  pack: PackEntry,
  fn: string,
): Promise<Listed | undefined> {
  const view = await directory.tool(pack, fn);
  if (!view?.isEnabled || !reaches(actor.level, view.level)) return undefined;
  const name = `${pack.name}.${fn}`;
  return { name, pack, view, info: infoOf(view, name) };
}

/** All tools of a pack whose full name passes `wants`; only those are read. */
export async function listedTools(
  directory: Directory,
  actor: Actor,
  pack: PackEntry,
  wants: (name: string) => boolean = () => true,
): Promise<Listed[]> {
  const found: Listed[] = [];
  for (const fn of pack.functions) {
    if (!wants(`${pack.name}.${fn}`)) continue;
    const tool = await listedTool(directory, actor, pack, fn);
    if (tool) found.push(tool);
  }
  await breathe();
  return found;
}

/** Packs the actor can do something with, each with its number of tools. Stored packs of large catalogs are not read for it. */
export async function listedPacks(directory: Directory, actor: Actor): Promise<{ pack: PackEntry; count: number }[]> {
  const packs = directory.packs(actor);
  const isLarge = packs.reduce((sum, pack) => sum + pack.size, 0) > countedWhole;
  const found: { pack: PackEntry; count: number }[] = [];
  for (const pack of packs) {
    const isCounted = !isLarge || pack.bundle.kind !== 'stored';
    const count = isCounted ? (await listedTools(directory, actor, pack)).length : pack.size;
    if (count > 0 || pack.size === 0) found.push({ pack, count });
  }
  return found;
}

/** The name a pack has in the configuration: without the underscore that Python forced on it. */
export function configuredName(pack: PackEntry, settings: Settings): string {
  const plain = pack.bundle.slug.replaceAll('-', '_');
  if (pack.bundle.kind !== 'server') return plain;
  return Object.keys(settings.servers).find((name) => name.replace(/\W/g, '_') === plain) ?? plain;
}

/** "local", or "proxy:{server}". */
export const sourceOf = (pack: PackEntry, settings: Settings): string =>
  pack.bundle.kind === 'server' ? `proxy:${configuredName(pack, settings)}` : 'local';

/** One line of a list; what has no description stands there with its name alone. */
export const bulleted = (name: string, description: string | undefined): string =>
  `- ${name}${description?.trim() ? `: ${brief(description)}` : ''}`;

/** The first line of a text: enough to choose by. */
export function brief(text: string | undefined, maxLength = 200): string {
  const line = (text ?? '').trim().split('\n', 1)[0]!.trim();
  return line.length > maxLength ? `${line.slice(0, maxLength - 3).trimEnd()}...` : line;
}

export const contains = (text: string, pattern: string): boolean => text.toLowerCase().includes(pattern.toLowerCase());

let lastTurnAt = 0;

/** Gives others a turn when work on a large catalog has gone on for a while. */
export async function breathe(): Promise<void> {
  if (performance.now() - lastTurnAt < 5) return;
  await turn();
  lastTurnAt = performance.now();
}
