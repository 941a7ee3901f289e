import type { ServerConfig } from '../../schema/index.ts';

type OAuth = NonNullable<ServerConfig['oauth']>;

/** What entitles us to access tokens. */
export interface Grant extends OAuth {
  grant: 'refresh_token' | 'client_credentials';
  /** The secret that the refresh token comes from, when it is one: its successor belongs there. */
  refreshSecret?: string;
}

/** A refresh token if there is one, client credentials otherwise. `filled` is `written` with the secrets in place. */
export function grantOf(written: OAuth, filled: OAuth): Grant {
  const refreshSecret = /^\$\{([^}]+)\}$/.exec(written.refreshToken ?? '')?.[1]?.trim();
  return {
    ...filled,
    grant: filled.refreshToken ? 'refresh_token' : 'client_credentials',
    ...(refreshSecret && { refreshSecret }),
  };
}

/** Where the SDK's transports ask for a token. */
export interface AccessTokens {
  token(): Promise<string>;
  onUnauthorized(): Promise<void>;
}

/** Hands on what `ask` answers; after a refusal it is told which token was refused. */
export function accessTokens(ask: (rejected?: string) => Promise<string>): AccessTokens {
  let last: string | undefined;
  let rejected: string | undefined;
  const token = async (): Promise<string> => (last = await ask(rejected));
  return {
    token,
    async onUnauthorized() {
      rejected = last;
      await token();
    },
  };
}
