import { randomBytes, timingSafeEqual } from 'node:crypto';
import { fail, type Actor } from '../schema/index.ts';
import type { SignInStore } from '../store/index.ts';
import { hashOf, type Tokens } from './tokens.ts';

export interface SignedIn {
  /** Goes into the HttpOnly cookie. */
  cookie: string;
  /** The page keeps it and sends it with every request: cookies ignore ports, this does not. */
  csrf: string;
  actor: Actor;
  expiresAt: string;
}

/** How browsers sign in: by a one-time code or a token, for a cookie and a secret that belong together. */
export interface SignIns {
  /** A code that signs in once as the token of `actor`, within ten minutes. */
  code(actor: Actor): Promise<string>;
  /** Throws auth.invalid for a code that was used, is too old or was never made. */
  byCode(code: string): Promise<SignedIn>;
  /** Throws auth.invalid like any other use of a bad token. */
  byToken(token: string): Promise<SignedIn>;
  /** Who a signed-in browser is; throws auth.required unless cookie and secret belong together and are still good. */
  authenticate(cookie: string, csrf: string | undefined): Promise<{ actor: Actor; expiresAt: string }>;
  end(cookie: string): Promise<void>;
}

const codeTtlMs = 10 * 60_000;
const signInTtlMs = 14 * 24 * 3600_000;
const over = 'This sign-in is over. Get a new link with: oubliette login';

export function signIns(store: SignInStore, tokens: Tokens): SignIns {
  const begin = async (actor: Actor, tokenId: string): Promise<SignedIn> => {
    const cookie = secret();
    const csrf = secret();
    const expiresAt = new Date(Date.now() + signInTtlMs).toISOString();
    await store.add(hashOf(cookie), { tokenId, csrfHash: hashOf(csrf), expiresAt });
    return { cookie, csrf, actor, expiresAt };
  };
  return {
    async code(actor) {
      if (!actor.tokenId) throw fail('scope.denied', { message: 'A sign-in link can be made only with a token.' });
      const code = secret();
      await store.addCode(hashOf(code), actor.tokenId, new Date(Date.now() + codeTtlMs).toISOString());
      return code;
    },
    async byCode(code) {
      const tokenId = await store.takeCode(hashOf(code), new Date().toISOString());
      if (!tokenId)
        throw fail('auth.invalid', {
          message: 'This sign-in code was used or is too old. Get a new link with: oubliette login',
        });
      return begin(await tokens.actorOf(tokenId, 'web'), tokenId);
    },
    async byToken(token) {
      const actor = tokens.authenticate(token, 'web');
      return begin(actor, actor.tokenId!);
    },
    async authenticate(cookie, csrf) {
      const row = await store.find(hashOf(cookie));
      if (!row || !csrf || row.expiresAt <= new Date().toISOString() || !timingSafeEqual(row.csrfHash, hashOf(csrf)))
        throw fail('auth.required', { message: over });
      return { actor: await tokens.actorOf(row.tokenId, 'web'), expiresAt: row.expiresAt };
    },
    end: (cookie) => store.remove(hashOf(cookie)),
  };
}

const secret = (): string => randomBytes(32).toString('base64url');
