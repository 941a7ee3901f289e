import { createHash } from 'node:crypto';
import { fail, isObject, numberOf } from '../../schema/index.ts';
import type { Redactor, SecretStore } from '../../store/index.ts';
import type { OauthClient } from './auth.ts';
import type { DialAnswer, DialPolicy, Dialler } from './dialler.ts';
import { networkReason } from './network-errors.ts';
import { readText } from './read-body.ts';

interface Held {
  token: string;
  /** Milliseconds since the epoch from which on a new one is asked for. */
  staleAt: number;
}

/** Access tokens, each asked for once, however many calls wait for it. Trouble is reported to who waited and not remembered. */
export interface OauthTokens {
  /** A valid token. `rejected` is one that the API just refused: it is replaced unless somebody did that already. */
  token(client: OauthClient, signal: AbortSignal, policy: DialPolicy, rejected?: string): Promise<string>;
}

export interface OauthDeps {
  dialler: Dialler;
  /** Told of every token, so that it can be kept out of answers and logs. */
  onToken(token: string): void;
  /** A refresh token was replaced by its server; the old one is worthless from now on. */
  onRefreshToken(secretName: string, token: string): Promise<void>;
}

const askMs = 15_000;
const maxAnswerBytes = 256 * 1024;
const longestLifeS = 7 * 24 * 3600;
const mostHeld = 1_000;

/** Tokens that stay out of answers and logs; a refresh token that came from a secret is replaced in it. */
export function keptTokens(dialler: Dialler, secrets: SecretStore, redactor: Redactor): OauthTokens {
  return oauthTokens({
    dialler,
    onToken: (token) => redactor.add('access token', token),
    onRefreshToken: async (name, token) => {
      const { hosts } = await secrets.get(name);
      await secrets.set(name, token, hosts);
    },
  });
}

export function oauthTokens({ dialler, onToken, onRefreshToken }: OauthDeps): OauthTokens {
  const held = new Map<string, Held>();
  const asking = new Map<string, Promise<string>>();
  /** Refresh tokens that a server replaced, when they do not come from a secret. */
  const successors = new Map<string, string>();
  /** Servers that want the client's secret as Basic. */
  const wantsBasic = new Set<string>();

  async function ask(client: OauthClient, key: string, policy: DialPolicy): Promise<string> {
    const refreshToken = successors.get(key) ?? client.refreshToken;
    const send = (isBasic: boolean): Promise<{ status: number; text: string }> =>
      request(dialler, { ...client, ...(refreshToken !== undefined && { refreshToken }) }, isBasic, policy);
    let answer = await send(wantsBasic.has(client.tokenUrl) && client.clientSecret !== undefined);
    if (
      (answer.status === 401 || (answer.status === 400 && answer.text.includes('invalid_client'))) &&
      !wantsBasic.has(client.tokenUrl) &&
      client.clientSecret !== undefined
    ) {
      const again = await send(true);
      if (again.status < 400) wantsBasic.add(client.tokenUrl);
      answer = again;
    }
    const granted = read(answer, client);
    onToken(granted.token);
    if (granted.refreshToken !== undefined && granted.refreshToken !== refreshToken) {
      onToken(granted.refreshToken);
      if (client.refreshSecret !== undefined) await onRefreshToken(client.refreshSecret, granted.refreshToken);
      else successors.set(key, granted.refreshToken);
    }
    if (held.size >= mostHeld) held.delete(held.keys().next().value as string);
    held.set(key, { token: granted.token, staleAt: performance.now() + granted.livesMs });
    return granted.token;
  }

  return {
    async token(client, signal, policy, rejected) {
      const key = keyOf(client);
      const found = held.get(key);
      if (found && found.token !== rejected && found.staleAt > performance.now()) return found.token;
      let running = asking.get(key);
      if (!running) {
        if (found?.token === rejected) held.delete(key);
        running = ask(client, key, policy).finally(() => asking.delete(key));
        asking.set(key, running);
        // Who asked may be gone before there is an answer.
        running.catch(() => {});
      }
      return orAborted(running, signal);
    },
  };
}

/** The question belongs to all who wait: it has a deadline of its own, and nobody's impatience ends it. */
async function request(
  dialler: Dialler,
  client: OauthClient,
  isBasic: boolean,
  policy: DialPolicy,
): Promise<{ status: number; text: string }> {
  const form = new URLSearchParams({ grant_type: client.grant });
  if (client.refreshToken !== undefined) form.set('refresh_token', client.refreshToken);
  if (client.scope !== undefined && client.scope !== '') form.set('scope', client.scope);
  const headers: Record<string, string> = {
    'content-type': 'application/x-www-form-urlencoded',
    accept: 'application/json',
  };
  const encoded = (text: string): string => encodeURIComponent(text).replaceAll('%20', '+');
  if (isBasic)
    headers['authorization'] =
      `Basic ${Buffer.from(`${encoded(client.clientId)}:${encoded(client.clientSecret ?? '')}`).toString('base64')}`;
  else {
    form.set('client_id', client.clientId);
    if (client.clientSecret !== undefined) form.set('client_secret', client.clientSecret);
  }
  let answer: DialAnswer;
  try {
    answer = await dialler.fetch(
      client.tokenUrl,
      { method: 'POST', headers, body: form.toString(), signal: AbortSignal.timeout(askMs) },
      { ...policy, hasSecretBody: true },
    );
    return { status: answer.status, text: await readText(answer, maxAnswerBytes, 'the token server') };
  } catch (error) {
    const reason = networkReason(error);
    if (reason === undefined) throw error;
    throw fail(
      'source.unreachable',
      { what: `The token server ${new URL(client.tokenUrl).host}`, reason },
      { cause: error },
    );
  }
}

function read(
  { status, text }: { status: number; text: string },
  client: OauthClient,
): { token: string; livesMs: number; refreshToken?: string } {
  const { host } = new URL(client.tokenUrl);
  if (status >= 500)
    throw fail('source.unreachable', { what: `The token server ${host}`, reason: `it answered ${status}` });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (status < 200 || status >= 300) {
    // Codes are short; anything longer is left out whole, since half of an echoed secret would not be recognised.
    const code = isObject(value) && typeof value['error'] === 'string' ? value['error'] : '';
    const said = code !== '' && code.length <= 100 ? `: ${code}` : '';
    throw fail('tool.failed', {
      reason: `The token server ${host} refused with ${status}${said}. Check clientId, clientSecret and scope.`,
    });
  }
  const token = isObject(value) ? value['access_token'] : undefined;
  if (!isObject(value) || typeof token !== 'string' || token === '' || !/^[\x21-\x7e]+$/.test(token))
    throw fail('tool.failed', { reason: `The token server ${host} answered ${status} without a usable access_token.` });
  const lives = numberOf(value['expires_in']);
  const seconds = Number.isFinite(lives) && lives > 0 ? Math.min(lives, longestLifeS) : 300;
  const refreshToken = value['refresh_token'];
  return {
    token,
    // Renewed a little early, but a token that lives for a second is still used once.
    livesMs: seconds * 1000 - Math.min(30_000, seconds * 200),
    ...(typeof refreshToken === 'string' && refreshToken.length >= 8 && { refreshToken }),
  };
}

function keyOf(client: OauthClient): string {
  const { grant, tokenUrl, clientId, clientSecret = '', scope = '' } = client;
  // A refresh token that its server replaces is still the same grant.
  const refresh = client.refreshSecret ?? client.refreshToken ?? '';
  return createHash('sha256')
    .update(JSON.stringify([grant, tokenUrl, clientId, clientSecret, scope, refresh]))
    .digest('base64');
}

async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let stop = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason as Error);
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
