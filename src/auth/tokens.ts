import { hash, randomBytes } from 'node:crypto';
import { fail, newId, reaches, type Actor, type Door, type Level } from '../schema/index.ts';
import type { TokenRow, TokenStore } from '../store/index.ts';
import { isSameSecret } from './same-secret.ts';

export interface NewToken {
  name: string;
  scope: Level;
  projects?: string[];
  bundles?: string[];
  expiresAt?: string;
  /** Set when it is granted to a session: it then belongs to that session's tree and can never change the catalog. */
  session?: { id: string; projectId: string };
}

/** Tokens: made, checked on every request, narrowed, rotated, revoked. */
export interface Tokens {
  /** Turns a credential into an actor; throws auth.required or auth.invalid. Asked for every request anew. */
  authenticate(secret: string | undefined, door: Door, connection?: object): Actor;
  /** The actor of a token that was checked before (streams, web sign-ins); throws auth.invalid once it is over. */
  actorOf(tokenId: string, door: Door): Promise<Actor>;
  /** Makes a token that reaches no further than `asker`; the secret is answered once and never stored. */
  mint(asker: Actor, wish: NewToken, secret?: string): Promise<{ secret: string; row: TokenRow }>;
  /** A secret that is worth nothing until a token is made with it. */
  draw(): string;
  /** A new secret for the same token; what it owns stays its own. */
  rotate(asker: Actor, id: string): Promise<{ secret: string; row: TokenRow }>;
  list(asker: Actor, after: string, limit: number): Promise<TokenRow[]>;
  get(id: string): Promise<TokenRow | undefined>;
  revoke(asker: Actor, id: string): Promise<void>;
  revokeOfSession(sessionId: string): Promise<void>;
  onRevoke(listener: () => void): () => void;
}

const lastUseEveryMs = 60_000;
const mostTouched = 1000;

export function tokens(store: TokenStore): Tokens {
  const touched = new Map<string, number>();
  const listeners = new Set<() => void>();
  const announce = (): void => listeners.forEach((listener) => listener());

  const noteUse = (row: TokenRow): void => {
    const now = Date.now();
    if (now - (touched.get(row.id) ?? 0) < lastUseEveryMs) return;
    // Session keys come and go; forgetting one costs at most one extra write.
    if (touched.size >= mostTouched) touched.clear();
    touched.set(row.id, now);
    store.touch(row.id, new Date(now).toISOString()).catch(() => touched.delete(row.id));
  };

  /**
   * What was last accepted on each connection: whoever stays says the same again, and to hash it costs most of this. It
   * is compared with care, as strangers may share a connection through a proxy.
   */
  const accepted = new WeakMap<object, { secret: Buffer; hashed: string }>();

  const actorBehind = (secret: string | undefined, door: Door, connection?: object): Actor => {
    if (!secret) throw fail('auth.required');
    if (!/^oub_[A-Za-z0-9_-]{43}$/.test(secret)) throw fail('auth.invalid');
    const last = connection && accepted.get(connection);
    const isSaidAgain = last !== undefined && isSameSecret(secret, last.secret);
    const hashed = isSaidAgain ? last.hashed : hash('sha256', secret);
    const row = store.find(hashed);
    if (!row || isOver(row)) throw fail('auth.invalid');
    if (connection && !isSaidAgain) accepted.set(connection, { secret: Buffer.from(secret), hashed });
    noteUse(row);
    return keptActor(row, door);
  };

  const inReach = async (asker: Actor, id: string): Promise<TokenRow> => {
    const row = await store.get(id);
    if (!row || !isWithin(asker, row)) throw fail('token.not_found', { ref: id });
    return row;
  };

  return {
    authenticate: actorBehind,

    async actorOf(tokenId, door) {
      const row = await store.get(tokenId);
      if (!row || isOver(row)) throw fail('auth.invalid');
      return actorFrom(row, door);
    },

    draw: newSecret,

    async mint(asker, wish, secret = newSecret()) {
      const row = narrowed(asker, wish);
      await store.add(row, hashOf(secret));
      return { secret, row };
    },

    async rotate(asker, id) {
      const row = await inReach(asker, id);
      // A secret of any other token would let an agent out of its session, and outlive it.
      if (asker.isGranted && row.sessionId !== asker.sessionId)
        throw fail('scope.denied', { message: "A session's key can renew only keys of its own session." });
      const secret = newSecret();
      if (isOver(row) || !(await store.setHash(id, hashOf(secret)))) throw fail('token.not_found', { ref: id });
      announce();
      return { secret, row };
    },

    async list(asker, after, limit) {
      const found: TokenRow[] = [];
      // Few of a stored page's tokens may be within the asker's reach, or none at all.
      for (let from = after; found.length < limit;) {
        const rows = await store.list(from, limit);
        found.push(...rows.filter((row) => isWithin(asker, row)));
        if (rows.length < limit) break;
        from = rows.at(-1)!.id;
      }
      return found.slice(0, limit);
    },
    get: (id) => store.get(id),

    async revoke(asker, id) {
      await inReach(asker, id);
      await store.revoke(id, new Date().toISOString());
      announce();
    },

    async revokeOfSession(sessionId) {
      await store.revokeOfSession(sessionId, new Date().toISOString());
      announce();
    },

    onRevoke(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** 256 random bits; shown once. */
export function newSecret(): string {
  return `oub_${randomBytes(32).toString('base64url')}`;
}

/** A plain hash is enough: the secret itself has 256 bits, there is nothing to guess. */
export function hashOf(secret: string): Buffer {
  // Hashing to text is several times cheaper than asking for bytes.
  return Buffer.from(hash('sha256', secret), 'hex');
}

function isOver(row: TokenRow): boolean {
  return row.revokedAt !== undefined || (row.expiresAt !== undefined && Date.parse(row.expiresAt) <= Date.now());
}

/** Rows of tokens that are in use are kept, and so are the actors behind them. */
function keptActor(row: Readonly<TokenRow>, door: Door): Actor {
  let byDoor = actors.get(row);
  if (!byDoor) actors.set(row, (byDoor = {}));
  return (byDoor[door] ??= Object.freeze(actorFrom(row, door)));
}
const actors = new WeakMap<Readonly<TokenRow>, { [door in Door]?: Actor }>();

function actorFrom(row: TokenRow, door: Door): Actor {
  return {
    kind: 'token',
    door,
    principal: row.principal,
    level: row.scope,
    tokenId: row.id,
    ...(row.projects && { projects: row.projects }),
    ...(row.bundles && { bundles: row.bundles }),
    ...(row.sessionId && { sessionId: row.sessionId, isGranted: true }),
    ...(row.projectId && { projectId: row.projectId }),
  };
}

/** A token can pass on what it has, never more. */
function narrowed(asker: Actor, wish: NewToken): TokenRow {
  if (!reaches(asker.level, wish.scope))
    throw fail('scope.denied', { tool: `a token of scope ${wish.scope}`, need: wish.scope, have: asker.level });
  const id = newId('tok');
  const projects = cut(asker.projects, wish.projects, 'project');
  const bundles = cut(asker.bundles, wish.bundles, 'bundle');
  return {
    id,
    name: wish.name,
    scope: wish.scope,
    createdAt: new Date().toISOString(),
    // A granted key is not its grantor: an agent must not answer the questions it asked its own caller.
    principal: wish.session ? `session:${wish.session.id}` : id,
    ...(projects && { projects }),
    ...(bundles && { bundles }),
    ...(wish.expiresAt && { expiresAt: wish.expiresAt }),
    ...(wish.session && { sessionId: wish.session.id, projectId: wish.session.projectId }),
  };
}

function cut(have: readonly string[] | undefined, wish: string[] | undefined, what: string): string[] | undefined {
  // An empty list asks for no narrowing: tokens report [] where they are not narrowed.
  if (!wish || wish.length === 0) return have && [...have];
  if (!have) return wish;
  const beyond = wish.find((each) => !have.includes(each));
  if (beyond !== undefined)
    throw fail('scope.denied', { message: `This token does not reach ${what} ${beyond} and cannot hand it on.` });
  return wish;
}

function isWithin(asker: Actor, row: TokenRow): boolean {
  const covers = (have: readonly string[] | undefined, its: string[] | undefined): boolean =>
    !have || (its !== undefined && its.every((each) => have.includes(each)));
  return covers(asker.projects, row.projects) && covers(asker.bundles, row.bundles);
}
