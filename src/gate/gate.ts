import type { Actor, CallOptions, Outcome, Source, ToolView } from '../schema/index.ts';

/** A tool by its name (newest enabled version), or one version exactly. */
export type ToolRef = string | { bundleID: string; slug: string; version: string };

/** The only way a tool is listed or called. Refusals are thrown as Failures; what happened after dispatch is an Outcome. */
export interface Gate {
  /** Tools this actor may see and call: enabled, in reach of its bundles and level, one version per name. */
  list(actor: Actor, filter?: { bundleSlug?: string; limit?: number }): Promise<ToolView[]>;
  /** The tool behind a name or version; throws tool.not_found also for what lies outside the actor's reach. */
  resolve(actor: Actor, ref: ToolRef): Promise<ToolView>;
  /** Permit, validate, limit, run, bound, record. A Failure as `args` is thrown where arguments are checked. */
  call(actor: Actor, ref: ToolRef, args: unknown, options?: CallOptions): Promise<Outcome>;
  /** The same for a tool that is in no catalog but declared for one session. */
  callDeclared(actor: Actor, tool: ToolView, source: Source, args: unknown, options?: CallOptions): Promise<Outcome>;
  /** True for the server's own tools (project_*, session_*, token_*, ...). */
  isOwn(tool: ToolView): boolean;
  /** Fires when what `list` answers may have changed. */
  onMenuChange(listener: () => void): () => void;
}

/** What runs tools, by what they are. */
export type Sources = { [type in 'function' | 'http' | 'script' | 'mcp']?: Source };

/** Keeps an answer that is too large for its door, and answers what to say instead (a result handle). */
export type KeepLarge = (actor: Actor, value: unknown, text: string) => Promise<Record<string, unknown>>;
