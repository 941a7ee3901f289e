import { readFile } from 'node:fs/promises';
import { newId } from '../schema/index.ts';
import { createFile, replaceFile, type TokenStore } from '../store/index.ts';
import { hashOf, newSecret, type Tokens } from './tokens.ts';

/**
 * Makes sure that the local admin has a token: `admin.token`, mode 0600. Two processes that start at once agree,
 * because only one can create the file. A file whose token the store does not know gets a fresh one.
 */
export async function ensureAdminToken(path: string, store: TokenStore): Promise<string> {
  const existing = await read(path);
  if (existing && isKnown(store, existing)) return existing;
  const secret = newSecret();
  const createdAt = new Date().toISOString();
  await store.add(
    { id: newId('tok'), name: 'local admin', scope: 'admin', createdAt, principal: 'local' },
    hashOf(secret),
  );
  if (existing !== undefined) await replaceFile(path, `${secret}\n`);
  else if (!(await createFile(path, `${secret}\n`))) return (await read(path)) ?? secret;
  return secret;
}

/** A new secret of the token that the file holds goes into the file: the command line would be locked out. */
export function keepAdminToken(all: Tokens, path: string, store: TokenStore): Tokens {
  return {
    ...all,
    async rotate(asker, id) {
      const held = await read(path);
      const isHeld = held !== undefined && found(store, held)?.id === id;
      const made = await all.rotate(asker, id);
      // The secret is answered this once, whatever happens to the file; the next start puts that right.
      if (isHeld) await replaceFile(path, `${made.secret}\n`).catch(() => {});
      return made;
    },
  };
}

async function read(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch {
    return undefined;
  }
}

const found = (store: TokenStore, secret: string): ReturnType<TokenStore['find']> =>
  store.find(hashOf(secret).toString('hex'));

function isKnown(store: TokenStore, secret: string): boolean {
  const it = found(store, secret);
  return it !== undefined && !it.revokedAt;
}
