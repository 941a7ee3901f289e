import type { Actor, CallOptions, Outcome, ToolView } from '../schema/index.ts';

/** A tool by its name (newest enabled version), or one version exactly. */
export type ToolRef = string | { bundleID: string; slug: string; version: string };

/** The only way a tool is listed or called. Refusals are thrown as Failures; what happened after dispatch is an Outcome. */
export interface Gate {
  /** Tools this actor may see and call: enabled, in reach of its bundles and level, one version per name. */
  list(actor: Actor): Promise<ToolView[]>;
  /** The tool behind a name or version; throws tool.not_found also for what lies outside the actor's reach. */
  resolve(actor: Actor, ref: ToolRef): Promise<ToolView>;
  /** Permit, validate, limit, run, bound, record. */
  call(actor: Actor, ref: ToolRef, args: unknown, options?: CallOptions): Promise<Outcome>;
  /** Fires when what `list` answers may have changed. */
  onMenuChange(listener: () => void): () => void;
}
