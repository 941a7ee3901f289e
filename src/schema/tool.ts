import { Type, type Static } from 'typebox';
import { Level } from './level.ts';
import type { JsonSchema } from './json.ts';

const Strict = { additionalProperties: false } as const;
const AnySchema = Type.Unsafe<JsonSchema>({
  description: 'A JSON Schema: draft-07, or 2020-12 when $schema says so',
});

export const FunctionImpl = Type.Object({ func: Type.String({ minLength: 1 }) }, Strict);
export type FunctionImpl = Static<typeof FunctionImpl>;

const Template = Type.String();
export const HttpAuth = Type.Union([
  Type.Object(
    {
      type: Type.Literal('apiKey'),
      in: Type.Union([Type.Literal('header'), Type.Literal('query')]),
      name: Template,
      value: Template,
    },
    Strict,
  ),
  Type.Object({ type: Type.Literal('bearer'), value: Template }, Strict),
  Type.Object({ type: Type.Literal('basic'), username: Template, password: Template }, Strict),
  Type.Object(
    {
      type: Type.Literal('hmac'),
      algorithm: Type.Literal('sha256'),
      secret: Template,
      header: Template,
      payload: Template,
    },
    Strict,
  ),
  Type.Object(
    {
      type: Type.Literal('oauth2'),
      grant: Type.Union([Type.Literal('client_credentials'), Type.Literal('refresh_token')]),
      tokenUrl: Template,
      clientId: Template,
      clientSecret: Template,
      refreshToken: Type.Optional(Template),
      scope: Type.Optional(Template),
    },
    Strict,
  ),
]);
export type HttpAuth = Static<typeof HttpAuth>;

/** How a value that is no plain one is written in a query or a form. */
const FieldStyle = Type.Union([
  Type.Literal('deepObject'),
  Type.Literal('exploded'),
  Type.Literal('commas'),
  Type.Literal('spaces'),
  Type.Literal('tabs'),
  Type.Literal('pipes'),
  Type.Literal('json'),
  Type.Literal('file'),
]);
export type FieldStyle = Static<typeof FieldStyle>;
const FieldStyles = Type.Optional(Type.Record(Type.String(), FieldStyle));

export const HttpImpl = Type.Object(
  {
    request: Type.Object(
      {
        method: Type.String({ minLength: 1 }),
        urlTemplate: Type.String({ minLength: 1 }),
        query: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
        headers: Type.Optional(Type.Record(Type.String(), Type.String())),
        body: Type.Optional(Type.Unknown()),
        styles: Type.Optional(Type.Object({ query: FieldStyles, body: FieldStyles }, Strict)),
        auth: Type.Optional(HttpAuth),
        timeoutMs: Type.Optional(Type.Integer({ minimum: 1, maximum: 60_000 })),
        retry: Type.Optional(
          Type.Object(
            {
              maxTries: Type.Optional(Type.Integer({ minimum: 1, maximum: 3 })),
              unsafe: Type.Optional(Type.Boolean()),
            },
            Strict,
          ),
        ),
      },
      Strict,
    ),
    response: Type.Optional(
      Type.Object(
        {
          successCodes: Type.Optional(Type.Array(Type.Integer({ minimum: 100, maximum: 599 }))),
          errorMode: Type.Optional(Type.Union([Type.Literal('fail'), Type.Literal('empty')])),
          encoding: Type.Optional(Type.Union([Type.Literal('json'), Type.Literal('text')])),
          select: Type.Optional(Type.String()),
        },
        Strict,
      ),
    ),
  },
  Strict,
);
export type HttpImpl = Static<typeof HttpImpl>;

export const ScriptImpl = Type.Object({ code: Type.String({ minLength: 1 }) }, Strict);
export type ScriptImpl = Static<typeof ScriptImpl>;

export const ToolLimits = Type.Object(
  {
    maxCallsPerMinute: Type.Optional(Type.Integer({ minimum: 1 })),
    maxRequestBytes: Type.Optional(Type.Integer({ minimum: 1 })),
    maxResponseBytes: Type.Optional(Type.Integer({ minimum: 1 })),
    maxTries: Type.Optional(Type.Integer({ minimum: 1, maximum: 3 })),
    timeoutMs: Type.Optional(Type.Integer({ minimum: 1 })),
  },
  Strict,
);
export type ToolLimits = Static<typeof ToolLimits>;

export const ToolType = Type.Union([
  Type.Literal('function'),
  Type.Literal('go'),
  Type.Literal('http'),
  Type.Literal('script'),
]);

/** What a person may PUT. `type:"go"` with `goImpl` is another word for `function` and is echoed as stored. */
export const ToolBody = Type.Object(
  {
    displayName: Type.String(),
    description: Type.Optional(Type.String()),
    tags: Type.Optional(Type.Array(Type.String())),
    isEnabled: Type.Boolean(),
    type: ToolType,
    argSchema: AnySchema,
    outputSchema: Type.Optional(AnySchema),
    functionImpl: Type.Optional(FunctionImpl),
    goImpl: Type.Optional(FunctionImpl),
    httpImpl: Type.Optional(HttpImpl),
    scriptImpl: Type.Optional(ScriptImpl),
    access: Type.Optional(Level),
    limits: Type.Optional(ToolLimits),
  },
  Strict,
);
export type ToolBody = Static<typeof ToolBody>;

/** A tool as every reader sees it. `type` is as stored; built-ins show `function`, proxied tools `mcp`. */
export interface Tool extends Omit<ToolBody, 'type'> {
  type: ToolBody['type'] | 'mcp';
  id: string;
  slug: string;
  version: string;
  bundleID: string;
  /** `<bundle>_<tool>` with dashes as underscores, made once, unique. */
  name: string;
  isBuiltIn: boolean;
  createdAt: string;
  modifiedAt: string;
  schemaVersion: number;
  /** For documentation: what it answers, and a call that works. */
  returns?: string;
  example?: string;
  /** The name an upstream server gave it; absent for our own. */
  upstreamName?: string;
  /** MCP annotations of a proxied tool, passed on unchanged. */
  annotations?: Record<string, unknown>;
}

/** A tool as lists and GET answer it. */
export interface ToolView extends Tool {
  bundleSlug: string;
  /** The level that a caller needs. */
  level: Level;
  usage: { callCount: number; lastCalledAt?: string; failureCount?: number; p50Ms?: number };
  disabledReason?: string;
  /** Patterns of its schemas that cannot be run safely: values are not checked against them. */
  uncheckedPatterns?: string[];
}
