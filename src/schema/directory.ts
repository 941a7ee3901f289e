import type { Actor } from './actor.ts';
import type { Bundle } from './bundle.ts';
import type { ToolView } from './tool.ts';

/** A bundle as programs see it. */
export interface PackEntry {
  /** As a program writes it. */
  name: string;
  bundle: Bundle;
  /** Names of its functions, switched off ones included. */
  functions: string[];
  /** How many of them are switched on, as far as that is known without reading them. */
  enabledCount: number;
}

/** The catalog as programs see it: packs and their functions, within the reach of an actor. */
export interface Directory {
  pack(actor: Actor, name: string): PackEntry | undefined;
  packs(actor: Actor): PackEntry[];
  /** The tool behind a function: its newest enabled version, or a disabled one that says why. */
  tool(pack: PackEntry, fn: string): Promise<ToolView | undefined>;
}
