import type { Level } from './level.ts';
import type { JsonSchema } from './json.ts';
import type { Handler } from './call.ts';
import type { ToolLimits } from './tool.ts';

/** A tool that code offers: a built-in, a pack's export, or a proxied server's tool. */
export interface OfferedTool {
  slug: string;
  /** Only `run` has a name without its bundle's. */
  name?: string;
  version?: string;
  displayName?: string;
  description: string;
  tags?: string[];
  argSchema: JsonSchema;
  outputSchema?: JsonSchema;
  level: Level;
  returns?: string;
  example?: string;
  limits?: ToolLimits;
  /** False: shipped switched off until a person switches it on. */
  isEnabled?: boolean;
  /** Name another tool may reference as `functionImpl.func`; set only for public functions. */
  isPublic?: boolean;
  upstreamName?: string;
  annotations?: Record<string, unknown>;
  /** Set when this one tool cannot be used (broken schema, ...): it is listed as disabled with the reason. */
  disabledReason?: string;
}

export interface OfferedFunction extends OfferedTool {
  run: Handler;
}

/** A bundle that code offers. `functions` run in our process; packs and servers run their tools by `source`. */
export interface OfferedBundle {
  slug: string;
  displayName: string;
  description?: string;
  kind: 'builtin' | 'pack' | 'server';
  tools: OfferedTool[];
  /** When this bundle last changed, for packs and servers; built-ins use the release date. */
  modifiedAt?: string;
  disabledReason?: string;
  /** True for the server's own tools (project_*, session_*, token_*, ...): listed by `/mcp` and the socket. */
  isOwn?: boolean;
}

/** Something that offers bundles and says when they change (packs folder, upstream servers). */
export interface BundleProvider {
  bundles(): OfferedBundle[];
  onChange(listener: () => void): () => void;
}

/** A built-in bundle with its handlers: what each room exports as `tools.ts`. */
export interface BuiltInBundle extends Omit<OfferedBundle, 'kind' | 'tools'> {
  tools: OfferedFunction[];
}
