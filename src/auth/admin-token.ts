import { readFile } from 'node:fs/promises';
import { newId } from '../schema/index.ts';
import { createFile, replaceFile, type TokenStore } from '../store/index.ts';
import { hashOf, newSecret } from './tokens.ts';

/**
 * Makes sure that the local admin has a token: `admin.token`, mode 0600. Two processes that start at once agree,
 * because only one can create the file. A file whose token the store does not know gets a fresh one.
 */
export async function ensureAdminToken(path: string, store: TokenStore): Promise<string> {
  const existing = await read(path);
  if (existing && (await isKnown(store, existing))) return existing;
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

async function read(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch {
    return undefined;
  }
}

async function isKnown(store: TokenStore, secret: string): Promise<boolean> {
  const found = store.find(hashOf(secret).toString('hex'));
  return found !== undefined && !found.row.revokedAt;
}
