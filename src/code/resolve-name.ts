import { missingBuiltin } from './hints.ts';
import { listing, nearest } from './nearest.ts';
import type { FunctionInfo } from './signature.ts';
import type { Pack, Target, World } from './world.ts';

export type Resolved = { target: Target; info: FunctionInfo } | { error: { type: string; message: string } };

/** The function that a program means by `pack.name` or by a bare name; aliases count where nothing else is there. */
export async function resolveFunction(world: World, pack: string | undefined, name: string): Promise<Resolved> {
  if (pack === undefined) return resolveBare(world, name, 0);
  const found = await resolvePack(world, pack);
  if (!found) return { error: { type: 'NameError', message: await unknownPack(world, pack) } };
  return inPack(found, name);
}

/** `brave.search` or a bare name, as `parallel` and aliases write it. */
export async function resolveWritten(world: World, written: string): Promise<Resolved> {
  const dot = written.lastIndexOf('.');
  return dot < 0
    ? resolveFunction(world, undefined, written)
    : resolveFunction(world, written.slice(0, dot), written.slice(dot + 1));
}

/** A pack by its name, or by an alias of the whole pack. */
export async function resolvePack(world: World, name: string): Promise<Pack | undefined> {
  const found = await world.pack?.(name);
  if (found) return found;
  const target = aliasOf(world, name);
  return target !== undefined && !target.includes('.') ? await world.pack?.(target) : undefined;
}

export async function unknownPack(world: World, name: string): Promise<string> {
  const builtin = missingBuiltin(name);
  if (builtin) return `name '${name}' is not defined: ${builtin}`;
  const names = (await world.packNames?.()) ?? [];
  const near = nearest(name, names);
  return `name '${name}' is not defined: there is no pack '${name}'.${near ? ` Did you mean '${near}'?` : ''} Packs: ${listing(names, 60)}`;
}

export function unknownFunction(pack: Pack, name: string): string {
  const names = pack.names();
  if (names.length === 0)
    return `pack '${pack.name}' has no function '${name}': it has none now. ot.health() says whether its server is connected`;
  const near = nearest(name, names);
  return `pack '${pack.name}' has no function '${name}'.${near ? ` Did you mean ${pack.name}.${near}?` : ''} Functions: ${listing(
    names.map((each) => `${pack.name}.${each}`),
    60,
  )}`;
}

async function resolveBare(world: World, name: string, depth: number): Promise<Resolved> {
  const info = await world.bare?.(name);
  if (info) return { target: { name }, info };
  const alias = aliasOf(world, name);
  if (alias !== undefined && alias !== name && depth < 5) {
    const dot = alias.lastIndexOf('.');
    if (dot < 0) return resolveBare(world, alias, depth + 1);
    const resolved = await resolveFunction(world, alias.slice(0, dot), alias.slice(dot + 1));
    if ('error' in resolved)
      return { error: { ...resolved.error, message: `alias '${name}' means ${alias}, but ${resolved.error.message}` } };
    return resolved;
  }
  return { error: { type: 'NameError', message: await unknownName(world, name) } };
}

/** Why a bare name means nothing, and what was probably meant. */
export async function unknownName(world: World, name: string): Promise<string> {
  const builtin = missingBuiltin(name);
  if (builtin) return `name '${name}' is not defined: ${builtin}`;
  const bare = (await world.bareNames?.()) ?? [];
  const packs = (await world.packNames?.()) ?? [];
  const known = [...bare, ...Object.keys(world.aliases ?? {}), ...packs];
  const near = (await asPackFunction(world, packs, name)) ?? nearest(name, known);
  const lists = [
    bare.length > 0 ? `Functions: ${listing(bare, 60)}` : '',
    packs.length > 0 ? `Packs: ${listing(packs, 60)}` : '',
  ]
    .filter(Boolean)
    .join('. ');
  return `name '${name}' is not defined.${near ? ` Did you mean '${near}'?` : ''} ${lists}`.trimEnd();
}

/** `demo.foo` for `demo_foo`: a tool's name outside of programs, written as a function. */
async function asPackFunction(world: World, packs: readonly string[], name: string): Promise<string | undefined> {
  for (const pack of packs) {
    if (!name.startsWith(`${pack}_`)) continue;
    const rest = name.slice(pack.length + 1);
    if (await (await world.pack?.(pack))?.find(rest)) return `${pack}.${rest}`;
  }
  return undefined;
}

async function inPack(pack: Pack, name: string): Promise<Resolved> {
  const info = await pack.find(name);
  if (!info) return { error: { type: 'AttributeError', message: unknownFunction(pack, name) } };
  return { target: { pack: pack.name, name }, info };
}

function aliasOf(world: World, name: string): string | undefined {
  return world.aliases && Object.hasOwn(world.aliases, name) ? world.aliases[name] : undefined;
}
