import { unknownOn, type ProgramShape } from './program-shape.ts';
import type { TraceFrame } from './protocol.ts';
import { resolveFunction, resolvePack, unknownFunction, unknownName, unknownPack } from './resolve-name.ts';
import type { World } from './world.ts';

export interface Explained {
  type: string;
  message: string;
}

const undefinedName = /^(?:name '([^']+)' is not defined|cannot access local variable '([^']+)' where .*)$/;

/**
 * Turns the interpreter's words about our names into what their author needs: what exists, and what is near. `frame` is
 * where it happened, in the text that the shape was read from.
 */
export async function explain(
  { type, message }: Explained,
  shape: ProgramShape,
  world: World,
  frame: TraceFrame | undefined,
): Promise<Explained> {
  if ((type === 'NameError' || type === 'UnboundLocalError') && undefinedName.test(message))
    return missedName({ type, message }, shape, world, frame);
  // A name that nobody knows looks like a tool to `sorted` and the like.
  const missed =
    message.includes('external functions are not yet supported') && (await firstUnknown(shape, world, frame));
  if (missed) return { type: 'NameError', message: await unknownText(missed, shape, world) };
  const attribute = /^'(\w+)' object has no attribute '(\w+)'$/.exec(message);
  const pack = type === 'AttributeError' && attribute ? await resolvePack(world, attribute[1]!) : undefined;
  if (!attribute || !pack) return { type, message };
  const found = await pack.find(attribute[2]!);
  const text = found
    ? `${found.fullName} is a function: call it, ${found.signature}`
    : unknownFunction(pack, attribute[2]!);
  return { type, message: text };
}

/** Inside a function the interpreter may speak of another name than the one that it missed. */
async function missedName(
  { type, message }: Explained,
  shape: ProgramShape,
  world: World,
  frame: TraceFrame | undefined,
): Promise<Explained> {
  const [, missing, unset] = undefinedName.exec(message)!;
  if (unset !== undefined && !shape.boundNames.has(unset))
    return { type, message: 'a local variable on this line has no value yet' };
  const name = shape.boundNames.has((missing ?? unset)!) ? await firstUnknown(shape, world, frame) : missing;
  if (name === undefined) return { type, message };
  if (shape.boundNames.has(name)) return { type: 'NameError', message: `name '${name}' is not defined` };
  return { type: 'NameError', message: await unknownText(name, shape, world) };
}

const unknownText = (name: string, shape: ProgramShape, world: World): Promise<string> =>
  isUsedAsPack(name, shape) ? unknownPack(world, name) : unknownName(world, name);

async function firstUnknown(shape: ProgramShape, world: World, frame?: TraceFrame): Promise<string | undefined> {
  if (!frame) return undefined;
  for (const name of unknownOn(shape, frame.line, frame.until))
    if (
      name !== 'parallel' &&
      !(await resolvePack(world, name)) &&
      'error' in (await resolveFunction(world, undefined, name))
    )
      return name;
  return undefined;
}

function isUsedAsPack(name: string, shape: ProgramShape): boolean {
  return shape.tokens.some(
    (token, i) => token.text === name && token.kind === 'name' && shape.tokens[i + 1]?.text === '.',
  );
}
