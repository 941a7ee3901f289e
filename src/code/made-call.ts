import type { World } from './world.ts';

/** A call as a program makes it; the arguments are JSON text, exactly as the interpreter's process would write them. */
export interface MadeCall {
  pack?: string;
  name: string;
  args: string;
  kwargs: string;
}

export function isSameCall(a: MadeCall, b: MadeCall): boolean {
  return a.pack === b.pack && a.name === b.name && a.args === b.args && a.kwargs === b.kwargs;
}

/** The arguments of a call as values. */
export interface Given {
  args: unknown[];
  keywords: [string, unknown][];
}

/** A call that is made whenever its program runs. */
export interface CertainCall extends MadeCall {
  /** Where it stands in the program. */
  start: number;
  end: number;
  /** What it is given, where that is nothing that anyone could change. */
  given?: Given;
}

export function givenTo(
  call: MadeCall & Pick<CertainCall, 'given'>,
  { read = JSON.parse }: Pick<World, 'read'>,
): Given {
  if (call.given) return call.given;
  const keywords = Object.entries(read(call.kwargs) as Record<string, unknown>);
  return { args: read(call.args) as unknown[], keywords };
}

/** The same call with what it is given beside it, if that is plain numbers, texts and the like. */
export function withGiven(call: CertainCall): CertainCall {
  const given = givenTo(call, {});
  const values = [...given.args, ...given.keywords.map(([, value]) => value)];
  return values.some((value) => typeof value === 'object' && value !== null) ? call : { ...call, given };
}
