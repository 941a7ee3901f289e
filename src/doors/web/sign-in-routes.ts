import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { demandLevel, type SignedIn } from '../../auth/index.ts';
import { check, fail } from '../../schema/index.ts';
import { cookieOf, csrfOf, setCookie } from './cookie.ts';
import type { WebDeps } from './deps.ts';

const Text = Type.String({ minLength: 1, maxLength: 200 });
const Credential = Type.Object(
  {
    code: Type.Optional(
      Type.String({ ...Text, description: 'The code of a sign-in link; works once, within ten minutes' }),
    ),
    token: Type.Optional(Type.String({ ...Text, description: 'A token, instead of a code' })),
  },
  { additionalProperties: false },
);
const Who = Type.Object({
  level: Type.String(),
  name: Type.String(),
  version: Type.String(),
  expires_at: Type.String(),
});
const open = { security: [] };
/** Strangers send these. */
const mostSignInBytes = 16 * 1024;

/** Signing in and out of the web app, and the link that does it. */
export function signInRoutes(app: FastifyInstance, deps: WebDeps): void {
  const { signIns, tokens, cookieName, version } = deps;

  const who = async ({ actor, expiresAt }: Pick<SignedIn, 'actor' | 'expiresAt'>): Promise<object> => {
    const row = actor.tokenId ? await tokens.get(actor.tokenId) : undefined;
    return { level: actor.level, name: row?.name ?? actor.principal, version, expires_at: expiresAt };
  };

  app.post(
    '/auth/signin',
    {
      bodyLimit: mostSignInBytes,
      schema: {
        summary: 'Exchange a one-time code or a token for a cookie and the secret that goes with it',
        body: Credential,
        ...open,
      },
    },
    async (request, reply) => {
      const { code, token } = check(Credential, request.body);
      if ((code === undefined) === (token === undefined))
        throw fail(
          'request.invalid',
          { reason: 'give either code or token' },
          { details: [{ path: '/code', message: 'is required' }] },
        );
      const signedIn = code === undefined ? await signIns.byToken(token!) : await signIns.byCode(code);
      const maxAge = Math.floor((Date.parse(signedIn.expiresAt) - Date.now()) / 1000);
      setCookie(reply, cookieName, signedIn.cookie, maxAge, deps.publicUrl().startsWith('https:'));
      void reply.header('Cache-Control', 'no-store');
      return { csrf: signedIn.csrf, ...(await who(signedIn)) };
    },
  );

  app.post(
    '/auth/signout',
    { bodyLimit: mostSignInBytes, schema: { summary: 'End the sign-in of this browser', ...open } },
    async (request, reply) => {
      const cookie = cookieOf(request, cookieName);
      if (cookie) {
        await signIns.authenticate(cookie, csrfOf(request));
        await signIns.end(cookie);
      }
      setCookie(reply, cookieName, '', 0, deps.publicUrl().startsWith('https:'));
      return reply.code(204).send();
    },
  );

  app.get(
    '/auth/session',
    { schema: { summary: 'Who this browser or token is', response: { 200: Who } } },
    async (request, reply) => {
      void reply.header('Cache-Control', 'no-store');
      const cookie = cookieOf(request, cookieName);
      if (cookie && request.headers.authorization === undefined)
        return who(await signIns.authenticate(cookie, csrfOf(request)));
      return who({ actor: await deps.authenticate(request), expiresAt: '' });
    },
  );

  const link = { bodyLimit: mostSignInBytes, schema: { summary: 'Make a one-time sign-in link for the web app' } };
  app.post('/auth/link', link, async (request) => {
    const actor = await deps.authenticate(request);
    demandLevel(actor, 'admin', 'Making a sign-in link');
    return { signInUrl: signInUrl(deps.publicUrl(), await signIns.code(actor)) };
  });
}

/** The code stands in the fragment, which browsers send to nobody. */
export const signInUrl = (url: string, code: string): string => `${url}/app/signin#code=${code}`;
