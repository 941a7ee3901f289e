import type { Actor } from './actor.ts';
import type { Bundle } from './bundle.ts';
import type { ToolView } from './tool.ts';

/** A bundle as programs see it. */
export interface PackEntry {
  /** As a program writes it. */
  name: string;
  bundle: Bundle;
  /** Versions of tools it holds: an upper bound of its functions that costs nothing to know. */
  size: number;
  /** Names of its functions, switched off ones included; made when first asked for. */
  readonly functions: readonly string[];
}

/** The catalog as programs see it: packs and their functions, within the reach of an actor. */
export interface Directory {
  pack(actor: Actor, name: string): PackEntry | undefined;
  packs(actor: Actor): PackEntry[];
  /** The tool behind a function: its newest enabled version, or a disabled one that says why; at once if it was asked for before. */
  tool(pack: PackEntry, fn: string): ToolView | undefined | Promise<ToolView | undefined>;
}
