import type { ProgramShape } from './program-shape.ts';
import { resolvePack, unknownFunction, unknownName, unknownPack } from './resolve-name.ts';
import type { World } from './world.ts';

/** Turns the interpreter's words about our names into what their author needs: what exists, and what is near. */
export async function explain(type: string, message: string, shape: ProgramShape, world: World): Promise<string> {
  const name = /^name '(\w+)' is not defined$/.exec(message)?.[1];
  if (type === 'NameError' && name !== undefined && !shape.boundNames.has(name))
    return isUsedAsPack(name, shape) ? unknownPack(world, name) : unknownName(world, name);
  const attribute = /^'(\w+)' object has no attribute '(\w+)'$/.exec(message);
  if (type === 'AttributeError' && attribute) {
    const pack = await resolvePack(world, attribute[1]!);
    if (!pack) return message;
    const found = await pack.find(attribute[2]!);
    return found
      ? `${found.fullName} is a function: call it, ${found.signature}`
      : unknownFunction(pack, attribute[2]!);
  }
  return message;
}

function isUsedAsPack(name: string, shape: ProgramShape): boolean {
  return shape.tokens.some(
    (token, i) => token.text === name && token.kind === 'name' && shape.tokens[i + 1]?.text === '.',
  );
}
