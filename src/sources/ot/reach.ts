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

/** Above this size a pack is counted without reading its tools. */
const countedWhole = 300;

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
  const names = pack.functions.filter((fn) => wants(`${pack.name}.${fn}`));
  const found = await Promise.all(names.map((fn) => listedTool(directory, actor, pack, fn)));
  return found.filter((each) => each !== undefined);
}

/** How many tools of a pack the actor may call. */
export async function toolCount(directory: Directory, actor: Actor, pack: PackEntry): Promise<number> {
  if (pack.functions.length > countedWhole) return pack.enabledCount;
  return (await listedTools(directory, actor, pack)).length;
}

/** Packs the actor can do something with, each with its number of tools. */
export async function listedPacks(directory: Directory, actor: Actor): Promise<{ pack: PackEntry; count: number }[]> {
  const found: { pack: PackEntry; count: number }[] = [];
  for (const pack of directory.packs(actor)) {
    const count = await toolCount(directory, actor, pack);
    if (count > 0 || pack.functions.length === 0) found.push({ pack, count });
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

/** The first line of a text: enough to choose by. */
export function brief(text: string | undefined, maxLength = 200): string {
  const line = (text ?? '').trim().split('\n', 1)[0]!.trim();
  return line.length > maxLength ? `${line.slice(0, maxLength - 3).trimEnd()}...` : line;
}

export const contains = (text: string, pattern: string): boolean => text.toLowerCase().includes(pattern.toLowerCase());
