import { Type } from 'typebox';
import {
  checkText,
  fail,
  offerTool,
  reachesBundle,
  type Actor,
  type BuiltInBundle,
  type Failure,
  type Level,
  type PageTokens,
} from '../schema/index.ts';
import type { TokenRow } from '../store/index.ts';
import type { Tokens } from './tokens.ts';

const strict = { additionalProperties: false };
const TokenId = Type.Object({ token_id: Type.String({ description: 'Its public id, tok_...' }) }, strict);
const CreateArgs = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 200, description: 'What it is for' }),
    scope: Type.Unsafe<Level>({
      enum: ['read', 'write', 'admin'],
      description: 'read, write (includes read) or admin',
    }),
    projects: Type.Optional(Type.Array(Type.String(), { description: 'Only these projects (ids)' })),
    bundles: Type.Optional(Type.Array(Type.String(), { description: 'Only these bundles (slugs)' })),
    ttl_seconds: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 3_155_760_000, description: 'Seconds until it expires' }),
    ),
    expires_at: Type.Optional(
      Type.String({ format: 'date-time', description: 'When it expires, instead of ttl_seconds' }),
    ),
  },
  strict,
);
type CreateArgs = Type.Static<typeof CreateArgs>;
const ListArgs = Type.Object(
  {
    page_size: Type.Optional(
      Type.Integer({ minimum: 1, default: 100, description: 'At most this many; never more than 256' }),
    ),
    page_token: Type.Optional(Type.String({ description: 'next_page_token of the page before' })),
  },
  strict,
);

/** What tokens may be narrowed to. */
export interface KnownBundles {
  isThere(slug: string): Promise<boolean>;
  slugs(): string[];
  /** The candidate that was most likely meant, if any is close. */
  nearest(slug: string, candidates: readonly string[]): string | undefined;
}

const mostWarnings = 20;

/** The server's own `token_*` tools. */
export function tokenTools(tokens: Tokens, pages: PageTokens, known: KnownBundles): BuiltInBundle {
  return {
    slug: 'token',
    displayName: 'Tokens',
    description: 'API keys and what they may reach',
    isOwn: true,
    tools: [
      offerTool({
        slug: 'create',
        description: 'Make an API token. The secret is in this answer and never shown again.',
        level: 'admin',
        argSchema: CreateArgs,
        returns: 'The token with its secret, and warnings of bundles that are not there',
        example: 'token.create(name="ci", scope="read", ttl_seconds=3600)',
        run: async (args, call) => {
          checkText(args, '/args');
          const expiresAt = expiryOf(args);
          const { secret, row } = await tokens.mint(call.actor, {
            name: args.name,
            scope: args.scope,
            ...(args.projects && { projects: args.projects }),
            ...(args.bundles && { bundles: args.bundles }),
            ...(expiresAt && { expiresAt }),
            // What a session makes ends with it and reaches no further than it.
            ...(call.actor.isGranted && call.actor.sessionId && call.actor.projectId
              ? { session: { id: call.actor.sessionId, projectId: call.actor.projectId } }
              : {}),
          });
          const warnings = await missing(args.bundles, call.actor, known);
          return { ...withSecret(row, secret), ...(warnings.length > 0 && { warnings }) };
        },
      }),
      offerTool({
        slug: 'list',
        description: 'List tokens with their reach, expiry and last use; never their secrets.',
        level: 'admin',
        argSchema: ListArgs,
        returns: 'tokens, next_page_token',
        example: 'token.list()',
        run: async (args, call) => {
          const after = args.page_token === undefined ? '' : pages.read<string>('token_list', args.page_token);
          const size = Math.min(args.page_size ?? 100, 256);
          const rows = await tokens.list(call.actor, after, size + 1);
          const page = rows.slice(0, size);
          return {
            tokens: page.map(shown),
            ...(rows.length > size && { next_page_token: pages.make('token_list', page.at(-1)!.id) }),
          };
        },
      }),
      offerTool({
        slug: 'revoke',
        description: 'Revoke a token at once; what it has open is closed.',
        level: 'admin',
        argSchema: TokenId,
        returns: 'id, revoked',
        example: 'token.revoke(token_id="tok_...")',
        run: async ({ token_id }, call) => {
          await tokens.revoke(call.actor, token_id);
          return { id: token_id, revoked: true };
        },
      }),
      offerTool({
        slug: 'rotate',
        description: 'Give a token a new secret; the old one stops at once, what it owns stays its own.',
        level: 'admin',
        argSchema: TokenId,
        returns: 'The token with its new secret',
        example: 'token.rotate(token_id="tok_...")',
        run: async ({ token_id }, call) => {
          const { secret, row } = await tokens.rotate(call.actor, token_id);
          return withSecret(row, secret);
        },
      }),
    ],
  };
}

/**
 * No refusal: a bundle may be there only while its server is connected or its pack can be read, and a token for one
 * bundle may be what makes that bundle.
 */
async function missing(slugs: readonly string[] = [], actor: Actor, known: KnownBundles): Promise<string[]> {
  const warnings: string[] = [];
  for (const slug of new Set(slugs)) {
    if (warnings.length >= mostWarnings) break;
    if (await known.isThere(slug)) continue;
    const near = known.nearest(
      slug,
      known.slugs().filter((each) => reachesBundle(actor, each)),
    );
    const next = near === undefined ? '' : ` Did you mean ${near}? Then revoke this token and make another.`;
    warnings.push(`There is no bundle ${slug} now: until there is one, this token reaches nothing in it.${next}`);
  }
  return warnings;
}

function expiryOf({ ttl_seconds, expires_at }: CreateArgs): string | undefined {
  if (ttl_seconds !== undefined && expires_at !== undefined)
    throw fail('request.invalid', { reason: 'give ttl_seconds or expires_at, not both' });
  if (ttl_seconds !== undefined) return new Date(Date.now() + ttl_seconds * 1000).toISOString();
  if (expires_at === undefined) return undefined;
  const expiresAt = Date.parse(expires_at);
  // Leap seconds have the right form, and no place in any calendar here.
  if (Number.isNaN(expiresAt)) throw refusedExpiry('is no time on the calendar');
  if (expiresAt <= Date.now()) throw refusedExpiry(`lies in the past; it is ${new Date().toISOString()} now`);
  return new Date(expiresAt).toISOString();
}

const refusedExpiry = (message: string): Failure =>
  fail(
    'args.invalid',
    { tool: 'token_create', reason: `/args/expires_at ${message}` },
    { details: [{ path: '/args/expires_at', message }] },
  );

function withSecret(row: TokenRow, secret: string): object {
  const { id, ...rest } = shown(row);
  return { id, token: secret, ...rest };
}

function shown(row: TokenRow) {
  return {
    id: row.id,
    name: row.name,
    scope: row.scope,
    projects: row.projects ?? [],
    bundles: row.bundles ?? [],
    expires_at: row.expiresAt ?? null,
    created_at: row.createdAt,
    last_used_at: row.lastUsedAt ?? null,
    revoked: row.revokedAt !== undefined,
    ...(row.sessionId && { session_id: row.sessionId }),
  };
}
