import { request } from './client.ts';
import { ApiError } from './errors.ts';
import { currentPresence, keepCsrfSecret, markRefused, markSignedIn, markSignedOut, type Who } from './presence.ts';
import { forgetPerson } from '../parts/memory.ts';
import { queries } from './queries.ts';

/** Exchanges a one-time code or a token for this browser's sign-in. Throws what the server says. */
export async function signIn(credential: string): Promise<void> {
  const text = credential.trim();
  const body = text.startsWith('oub_') ? { token: text } : { code: codeOf(text) };
  const { csrf, ...who } = await request<Who & { csrf: string }>('POST', '/auth/signin', { body });
  keepCsrfSecret(csrf);
  markSignedIn(who);
  void queries.invalidateQueries();
}

/** Ends the sign-in and forgets what this browser kept: drafts, tries, results. */
export async function signOut(): Promise<void> {
  await request('POST', '/auth/signout').catch(() => undefined);
  queries.clear();
  forgetPerson();
  sessionStorage.clear();
  markSignedOut();
}

/** Asks who this browser is; keeps trying while the server is away. */
export async function checkSignIn(): Promise<void> {
  for (let waitMs = 500; currentPresence().state === 'checking'; waitMs = Math.min(waitMs * 2, 5_000)) {
    try {
      markSignedIn(await request<Who>('GET', '/auth/session'));
    } catch (error) {
      if (error instanceof ApiError && error.status !== 0) return markRefused();
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  }
}

const codeOf = (text: string): string => /code=([^&\s]+)/.exec(text)?.[1] ?? text;
