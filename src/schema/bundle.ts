import { Type, type Static } from 'typebox';

/** The four fields that a person may set. */
export const BundleBody = Type.Object(
  {
    slug: Type.String(),
    displayName: Type.String(),
    isEnabled: Type.Boolean(),
    description: Type.Optional(Type.String()),
  },
  { additionalProperties: false },
);
export type BundleBody = Static<typeof BundleBody>;

/** Where a bundle comes from: the catalog's files, our own code, a pack file, or an upstream MCP server. */
export const BundleKind = Type.Union([
  Type.Literal('stored'),
  Type.Literal('builtin'),
  Type.Literal('pack'),
  Type.Literal('server'),
]);
export type BundleKind = Static<typeof BundleKind>;

export const Bundle = Type.Object({
  id: Type.String({ description: 'UUIDv7, lower case' }),
  slug: Type.String(),
  displayName: Type.String(),
  description: Type.Optional(Type.String()),
  isEnabled: Type.Boolean(),
  isBuiltIn: Type.Boolean(),
  /** Packs and proxied servers: normal in every list, only `isEnabled` can be changed. */
  isManaged: Type.Boolean(),
  kind: BundleKind,
  createdAt: Type.String(),
  modifiedAt: Type.String(),
  softDeletedAt: Type.Optional(Type.String()),
  schemaVersion: Type.Integer(),
  disabledReason: Type.Optional(Type.String()),
});
export type Bundle = Static<typeof Bundle>;
