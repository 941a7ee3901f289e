import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createFile } from './files.ts';

interface Key {
  id: string;
  bytes: Buffer;
}

/** An encrypted value as it lies in the database. */
export interface Sealed {
  keyId: string;
  nonce: Uint8Array;
  box: Uint8Array;
}

/**
 * The keys that lie beside the database, newest first; an older one is there only while a rotation is under way. What
 * reads or changes the file does so at once: it belongs into the write transaction that keeps other processes away.
 */
export interface KeyRing {
  /** AES-256-GCM under the newest key; `bound` cannot be changed without breaking the seal. */
  seal(text: string, bound: string): Sealed;
  /** Undefined when the key is gone or the seal is broken. */
  unseal(sealed: Sealed, bound: string): string | undefined;
  has(keyId: string): boolean;
  /** Puts a new key in front; the old ones stay readable until they are forgotten. */
  addKey(): void;
  /** Forgets all keys but the newest and those still in use. */
  forgetOld(isNeeded: (keyId: string) => boolean): void;
  /** Another process may have rotated; true when it did. */
  reload(): boolean;
}

/** Opens the key file, mode 0600, or makes it; the file system decides which of several starting processes does. */
export async function openKeyRing(path: string): Promise<KeyRing> {
  await createFile(path, render([newKey()]), 0o600);
  await chmod(path, 0o600);
  let keys = read(path);
  const write = (next: Key[]): void => {
    replaceNow(path, render(next));
    keys = next;
  };
  return {
    seal(text, bound) {
      const [key] = keys;
      if (!key) throw new Error(`${path} holds no key`);
      const nonce = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', key.bytes, nonce).setAAD(Buffer.from(bound));
      const box = Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return { keyId: key.id, nonce, box };
    },
    unseal(sealed, bound) {
      const key = keys.find((each) => each.id === sealed.keyId);
      if (!key || sealed.box.length < 16) return undefined;
      const box = Buffer.from(sealed.box);
      const decipher = createDecipheriv('aes-256-gcm', key.bytes, sealed.nonce).setAAD(Buffer.from(bound));
      decipher.setAuthTag(box.subarray(-16));
      try {
        return decipher.update(box.subarray(0, -16), undefined, 'utf8') + decipher.final('utf8');
      } catch {
        return undefined;
      }
    },
    has: (keyId) => keys.some((each) => each.id === keyId),
    addKey() {
      write([newKey(), ...read(path)]);
    },
    forgetOld(isNeeded) {
      write(read(path).filter((key, index) => index === 0 || isNeeded(key.id)));
    },
    reload() {
      const before = keys;
      keys = read(path);
      return keys.some((key, index) => key.id !== before[index]?.id);
    },
  };
}

const newKey = (): Key => ({ id: randomBytes(8).toString('hex'), bytes: randomBytes(32) });
const render = (keys: Key[]): string => keys.map((key) => `${key.id} ${key.bytes.toString('base64')}\n`).join('');

/** The whole file or nothing, on disk when this returns. */
function replaceNow(path: string, text: string): void {
  const temp = `${path}.${process.pid}.tmp`;
  writeFileSync(temp, text, { mode: 0o600, flush: true });
  renameSync(temp, path);
  const folder = openSync(dirname(path), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

function read(path: string): Key[] {
  const lines = readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '');
  const keys = lines.map((line) => {
    const [id = '', bytes = ''] = line.trim().split(' ');
    return { id, bytes: Buffer.from(bytes, 'base64') };
  });
  if (keys.length === 0 || keys.some((key) => key.id === '' || key.bytes.length !== 32))
    throw new Error(`${path} is damaged. Put the file back from a backup, or delete it and set every secret again.`);
  return keys;
}
