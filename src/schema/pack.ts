import type { JsonSchema } from './json.ts';
import type { Level } from './level.ts';

/** What stands on the `tool` property of a pack's exported function. */
export interface ToolInfo {
  /** What it does, for the model that decides whether to call it. */
  description: string;
  /** JSON Schema of the arguments; they are checked before the function runs. */
  argSchema: JsonSchema;
  /** JSON Schema of the answer; checked after it ran. */
  outputSchema?: JsonSchema;
  /** `read` for what changes nothing, else `write` (the default) or `admin`. */
  access?: Level;
  tags?: string[];
  displayName?: string;
  /** A call that works, as code mode would write it. */
  example?: string;
  /** What it answers, in a few words. */
  returns?: string;
  /** `v1` by default. */
  version?: string;
  /** How long a call may take; 30,000 by default. At the end the call fails, and an endless loop is killed. */
  timeoutMs?: number;
}

/** What `export const bundle` of a pack may say. */
export interface BundleInfo {
  displayName?: string;
  description?: string;
}

export type PackOutcome =
  { ok: true; value: unknown } | { ok: false; error: { code: string; message: string; retryable: boolean } };

/** The second argument of a pack's function. Everything it does passes the same checks as any other call of that actor. */
export interface PackCall {
  readonly actor: { readonly principal: string; readonly level: Level; readonly door: string };
  readonly tool: { readonly name: string; readonly slug: string; readonly bundleSlug: string };
  readonly requestId: string;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  /** Calls another tool by its name (`demo_foo`); rejects when the call is refused. */
  invoke(name: string, args?: Record<string, unknown>): Promise<PackOutcome>;
  /** The names and descriptions of all tools that this actor may call. */
  list(): Promise<{ name: string; description?: string }[]>;
  progress(progress: { progress: number; total?: number; message?: string }): void;
  log(level: 'debug' | 'info' | 'warn' | 'error', message: string, fields?: Record<string, unknown>): void;
}

/** A pack's exported function that is a tool. */
export interface PackFunction {
  (args: any, call: PackCall): unknown;
  tool: ToolInfo;
}
