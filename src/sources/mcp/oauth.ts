import type { ServerConfig } from '../../schema/index.ts';
import { fail, numberOf, textOf } from '../../schema/index.ts';

type OAuth = NonNullable<ServerConfig['oauth']>;
type Fetch = typeof globalThis.fetch;

/** Hands out access tokens, fetched when needed and renewed a little before they expire. */
export interface AccessTokens {
  token(): Promise<string>;
  onUnauthorized(): Promise<void>;
}

/** A refresh token if there is one, client credentials otherwise. Throws source.unreachable with the server's answer. */
export function accessTokens(oauth: OAuth, fetch: Fetch): AccessTokens {
  let current: { token: string; renewAt: number } | undefined;
  let asking: Promise<string> | undefined;
  let refreshToken = oauth.refreshToken;

  async function ask(): Promise<string> {
    const form = new URLSearchParams({ client_id: oauth.clientId });
    if (oauth.clientSecret) form.set('client_secret', oauth.clientSecret);
    if (oauth.scope) form.set('scope', oauth.scope);
    form.set('grant_type', refreshToken ? 'refresh_token' : 'client_credentials');
    if (refreshToken) form.set('refresh_token', refreshToken);
    const answer = await fetch(oauth.tokenUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
      body: form.toString(),
      signal: AbortSignal.timeout(15_000),
    });
    const body = (await answer.json().catch(() => ({}))) as Record<string, unknown>;
    if (!answer.ok || typeof body['access_token'] !== 'string')
      throw fail('source.unreachable', {
        what: new URL(oauth.tokenUrl).host,
        reason: `no access token (status ${answer.status}, ${textOf(body['error']) || 'no error given'})`,
      });
    if (typeof body['refresh_token'] === 'string') refreshToken = body['refresh_token'];
    const seconds = numberOf(body['expires_in']) || 300;
    current = { token: body['access_token'], renewAt: performance.now() + Math.max(1, seconds * 0.9) * 1000 };
    return current.token;
  }

  return {
    async token() {
      if (current && current.renewAt > performance.now()) return current.token;
      return (asking ??= ask().finally(() => (asking = undefined)));
    },
    async onUnauthorized() {
      current = undefined;
      await this.token();
    },
  };
}
