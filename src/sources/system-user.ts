import { readFile } from 'node:fs/promises';

export interface SystemUser {
  name: string;
  uid: number;
  gid: number;
  home: string;
}

/** The first of these users that the system has, for children of root to become; undefined when we are not root or there is none. */
export async function systemUser(names: readonly string[]): Promise<SystemUser | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const lines = (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n').map((line) => line.split(':'));
  for (const name of names) {
    const [, , uid, gid, , home = '/'] = lines.find((fields) => fields[0] === name) ?? [];
    if (Number(uid) > 0 && Number(gid) > 0) return { name, uid: Number(uid), gid: Number(gid), home };
  }
  return undefined;
}
