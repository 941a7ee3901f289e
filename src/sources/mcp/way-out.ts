import { keptTokens, secretHosts, type Dialler } from '../http/index.ts';
import type { Redactor, SecretStore } from '../../store/index.ts';
import type { Grant } from './oauth.ts';

/** Where a connection gets its secrets from, and how it leaves the machine. */
export interface WayOut {
  /** Puts secrets in place of `${NAME}`; throws secret.missing, and host.not_allowed for one that may not go to `url`. */
  fillIn(text: string, url?: string): Promise<string> | string;
  /** A `fetch` that may reach this URL's host besides the allowed ones. */
  fetchFor(url: string): typeof globalThis.fetch;
  /** An access token; `rejected` is one that was just refused. */
  accessToken(grant: Grant, rejected?: string): Promise<string>;
  /** Takes secrets out of what does not pass the gate. */
  redact<T>(value: T): T;
}

/** As for all other outgoing requests: the same dialler, the same secrets, the same tokens. */
export function wayOut(deps: { dialler: Dialler; secrets: SecretStore; redactor: Redactor }): WayOut {
  const { dialler, secrets, redactor } = deps;
  const tokens = keptTokens(dialler, secrets, redactor);
  const demandHost = secretHosts();
  const hostOf = (url: string): string => new URL(url).host;
  return {
    fillIn: (text, url) => secrets.fill(text, (secret) => url !== undefined && demandHost(secret, new URL(url))),
    fetchFor: (url) => dialler.webFetch({ allow: [hostOf(url)] }),
    accessToken: (grant, rejected) =>
      tokens.token(grant, new AbortController().signal, { allow: [hostOf(grant.tokenUrl)] }, rejected),
    redact: (value) => redactor.value(value),
  };
}
