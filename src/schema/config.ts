import { Type, type Static, type TProperties } from 'typebox';

const strict = <T extends TProperties>(properties: T) => Type.Object(properties, { additionalProperties: false });
const Text = Type.String({ minLength: 1 });
const Texts = Type.Array(Type.String());
const TextMap = Type.Record(Type.String(), Type.String());
const Count = Type.Integer({ minimum: 1 });
const Days = Type.Integer({ minimum: 1, maximum: 36_500 });
const opt = Type.Optional;

export const SnippetParam = strict({
  description: opt(Type.String()),
  type: opt(Type.String()),
  default: opt(Type.Unknown()),
  example: opt(Type.Unknown()),
});
export const Snippet = strict({
  description: opt(Type.String()),
  params: opt(Type.Record(Type.String(), Type.Union([SnippetParam, Type.Null()]))),
  body: Type.String(),
});
export type Snippet = Static<typeof Snippet>;

/** An upstream MCP server: `command` (stdio) or `url` (streamable HTTP or SSE). */
export const ServerConfig = strict({
  type: opt(Type.Union([Type.Literal('stdio'), Type.Literal('http'), Type.Literal('sse')])),
  transport: opt(Type.Union([Type.Literal('stdio'), Type.Literal('http'), Type.Literal('sse')])),
  command: opt(Text),
  args: opt(Texts),
  env: opt(TextMap),
  cwd: opt(Text),
  url: opt(Text),
  headers: opt(TextMap),
  oauth: opt(
    strict({
      tokenUrl: Text,
      clientId: Text,
      clientSecret: opt(Type.String()),
      refreshToken: opt(Type.String()),
      scope: opt(Type.String()),
    }),
  ),
  enabled: opt(Type.Boolean()),
  timeoutMs: opt(Count),
  maxConcurrent: opt(Count),
});
export type ServerConfig = Static<typeof ServerConfig>;

export const AgentConfig = strict({
  driver: Type.Union([Type.Literal('acp'), Type.Literal('droid'), Type.Literal('embedded')]),
  command: opt(Text),
  args: opt(Texts),
  env: opt(TextMap),
  /** Files to place in the agent's home before it starts: name to text. */
  files: opt(TextMap),
  provider: opt(Text),
  model: opt(Text),
});
export type AgentConfig = Static<typeof AgentConfig>;

export const ProviderConfig = strict({
  shape: Type.Union([Type.Literal('openai'), Type.Literal('anthropic'), Type.Literal('gemini')]),
  baseUrl: Text,
  secret: opt(Text),
  prices: opt(
    Type.Record(Type.String(), strict({ in: Type.Number({ minimum: 0 }), out: Type.Number({ minimum: 0 }) })),
  ),
});
export type ProviderConfig = Static<typeof ProviderConfig>;

/** `config.yaml` as written; every key is optional, `defaults` fills the rest. */
export const Config = strict({
  version: opt(Type.Literal(1)),
  include: opt(Texts),
  allowedHosts: opt(Texts),
  aliases: opt(TextMap),
  snippets: opt(Type.Record(Type.String(), Snippet)),
  servers: opt(Type.Record(Type.String(), ServerConfig)),
  notify: opt(strict({ topics: opt(Type.Array(strict({ pattern: Text, file: Text }))) })),
  output: opt(strict({ maxInlineBytes: opt(Count), resultTtlSeconds: opt(Count), previewLines: opt(Count) })),
  stats: opt(strict({ enabled: opt(Type.Boolean()), reportDirs: opt(Texts) })),
  docs: opt(strict({ baseUrl: opt(Text) })),
  fs: opt(strict({ root: opt(Text) })),
  http: opt(
    strict({
      publicUrl: opt(Text),
      allowedOrigins: opt(Texts),
      maxBodyBytes: opt(Count),
      allowRemoteConfig: opt(Type.Boolean()),
    }),
  ),
  code: opt(strict({ timeoutMs: opt(Count), maxMemoryMb: opt(Count), maxCalls: opt(Count), children: opt(Count) })),
  agents: opt(Type.Record(Type.String(), Type.Union([Text, AgentConfig]))),
  providers: opt(Type.Record(Type.String(), ProviderConfig)),
  sandbox: opt(
    strict({
      driver: opt(
        Type.Union([Type.Literal('auto'), Type.Literal('docker'), Type.Literal('podman'), Type.Literal('bubblewrap')]),
      ),
      level: opt(Type.Union([Type.Literal('basic'), Type.Literal('strict')])),
      memoryMb: opt(Count),
      pids: opt(Count),
      cpus: opt(Type.Number({ exclusiveMinimum: 0 })),
    }),
  ),
  limits: opt(
    strict({
      depth: opt(Type.Integer({ minimum: 0 })),
      agents: opt(Count),
      costUsd: opt(Type.Number({ minimum: 0 })),
      sessionsPerProject: opt(Count),
      idleMinutes: opt(Type.Number({ exclusiveMinimum: 0 })),
      callerTimeoutMs: opt(Count),
      reconnectGraceMs: opt(Count),
    }),
  ),
  retention: opt(strict({ auditDays: opt(Days), sessionDays: opt(Days) })),
});
export type ConfigFile = Static<typeof Config>;

/** `prompts.yaml`. */
export const Prompts = strict({ packs: opt(Type.Record(Type.String(), Type.String())) });
export type Prompts = Static<typeof Prompts>;

type Filled<T> = { [K in keyof T]-?: NonNullable<T[K]> };

/** The configuration that rooms see: every default filled in. Secrets (`${NAME}`) are NOT filled in here. */
export interface Settings {
  allowedHosts: string[];
  aliases: Record<string, string>;
  snippets: Record<string, Snippet>;
  servers: Record<string, ServerConfig>;
  notify: { topics: { pattern: string; file: string }[] };
  output: Filled<NonNullable<ConfigFile['output']>>;
  stats: Filled<NonNullable<ConfigFile['stats']>>;
  docs: Filled<NonNullable<ConfigFile['docs']>>;
  fs: { root?: string };
  http: { publicUrl?: string; allowedOrigins: string[]; maxBodyBytes: number; allowRemoteConfig: boolean };
  code: { timeoutMs: number; maxMemoryMb: number; maxCalls: number; children?: number };
  agents: { default: string; known: Record<string, AgentConfig> };
  providers: Record<string, ProviderConfig>;
  sandbox: Filled<NonNullable<ConfigFile['sandbox']>>;
  limits: Filled<NonNullable<ConfigFile['limits']>>;
  /** What is not named stays. */
  retention: { auditDays?: number; sessionDays?: number };
  /** Instructions per pack, from prompts.yaml. */
  prompts: Record<string, string>;
}
