import { checkArgumentNames } from './bind-arguments.ts';
import type { ProgramShape } from './program-shape.ts';
import type { Token } from './python-tokens.ts';
import { resolveFunction, resolvePack, unknownPack } from './resolve-name.ts';
import type { World } from './world.ts';

/** Names with methods of their own in every program: `str.join`, `dict.fromkeys`. */
const builtinTypes = new Set('bool bytes dict float frozenset int list object range set str tuple type'.split(' '));

/** Something that is certain to fail, found before anything ran. */
export interface Finding {
  type: string;
  message: string;
  line: number;
}

/**
 * Finds calls that cannot work whatever the values are: unknown packs and functions, misspelt or missing
 * arguments. Calls inside `try` are left to run, since the program may be waiting for exactly that error.
 */
export async function staticCheck(shape: ProgramShape, world: World): Promise<Finding | undefined> {
  const tryIndents: number[] = [];
  for (const { tokens, indent } of shape.lines) {
    while (tryIndents.length > 0 && indent <= tryIndents.at(-1)!) tryIndents.pop();
    if (tokens[0]!.text === 'try') tryIndents.push(indent);
    if (tryIndents.length > 0) continue;
    const finding = await checkLine(tokens, shape, world);
    if (finding) return finding;
  }
  return undefined;
}

async function checkLine(tokens: readonly Token[], shape: ProgramShape, world: World): Promise<Finding | undefined> {
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i]!;
    if (token.inner) {
      const finding = await checkLine(token.inner, shape, world);
      if (finding) return finding;
    }
    if (
      token.kind !== 'name' ||
      tokens[i - 1]?.text === '.' ||
      tokens[i - 1]?.text === 'def' ||
      shape.boundNames.has(token.text)
    )
      continue;
    if (builtinTypes.has(token.text)) continue;
    const isPack = tokens[i + 1]?.text === '.' && tokens[i + 2]?.kind === 'name' && tokens[i + 3]?.text === '(';
    const finding = isPack
      ? await checkPackCall(tokens, i, world)
      : tokens[i + 1]?.text === '(' && (await isCallable(world, token.text))
        ? await checkCall(tokens, i + 1, undefined, token.text, world)
        : undefined;
    if (finding) return { ...finding, line: token.line };
  }
  return undefined;
}

async function checkPackCall(
  tokens: readonly Token[],
  i: number,
  world: World,
): Promise<Omit<Finding, 'line'> | undefined> {
  const pack = tokens[i]!.text;
  if (!(await resolvePack(world, pack))) {
    // A name that nothing binds and that is no pack: functions that stand alone have no attributes either.
    return { type: 'NameError', message: await unknownPack(world, pack) };
  }
  return checkCall(tokens, i + 3, pack, tokens[i + 2]!.text, world);
}

async function checkCall(
  tokens: readonly Token[],
  open: number,
  pack: string | undefined,
  name: string,
  world: World,
): Promise<Omit<Finding, 'line'> | undefined> {
  const resolved = await resolveFunction(world, pack, name);
  if ('error' in resolved) return resolved.error;
  const args = readArguments(tokens, open);
  if (!args) return undefined;
  const problem = checkArgumentNames(resolved.info, args.positional, args.keywords, args.isPartial);
  return problem === undefined ? undefined : { type: 'TypeError', message: problem };
}

async function isCallable(world: World, name: string): Promise<boolean> {
  if (world.aliases && Object.hasOwn(world.aliases, name)) return true;
  return (await world.bare?.(name)) !== undefined;
}

/** The arguments between the brackets, as far as their text tells; undefined when the bracket never closes. */
function readArguments(
  tokens: readonly Token[],
  open: number,
): { positional: number; keywords: string[]; isPartial: boolean } | undefined {
  const depth = tokens[open]!.depth + 1;
  const keywords: string[] = [];
  let positional = 0;
  let isPartial = false;
  let startsArgument = true;
  for (let i = open + 1; i < tokens.length; i++) {
    const token = tokens[i]!;
    if (token.depth < depth) return { positional, keywords, isPartial };
    if (token.depth > depth) continue;
    if (token.text === ',' && token.kind === 'op') {
      startsArgument = true;
      continue;
    }
    if (!startsArgument) continue;
    startsArgument = false;
    if (token.text === '*' || token.text === '**') isPartial = true;
    else if (token.kind === 'name' && tokens[i + 1]?.text === '=') keywords.push(token.text);
    else positional++;
  }
  return undefined;
}
