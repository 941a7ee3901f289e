import { chmod, chown, mkdir } from 'node:fs/promises';

/** A uid that no system hands out to people or daemons. */
const unprivilegedId = 10001;

export interface SandboxUser {
  uid: number;
  gid: number;
}

/** Who the processes in a sandbox are, seen from the host: never root, and our own user when we are not root. */
export function sandboxUser(): SandboxUser {
  const uid = process.getuid?.() ?? unprivilegedId;
  return uid === 0 ? { uid: unprivilegedId, gid: unprivilegedId } : { uid, gid: process.getgid?.() ?? uid };
}

/** Makes the folders a sandbox writes to its own, and the folder of its sockets readable; contents are left alone. */
export async function prepareFolders(spec: { workspace: string; spool: string; mcp: string }): Promise<void> {
  const user = sandboxUser();
  for (const folder of [spec.workspace, spec.spool]) {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    if (process.getuid?.() === 0) await chown(folder, user.uid, user.gid);
  }
  await mkdir(spec.mcp, { recursive: true });
  await chmod(spec.mcp, 0o755);
}
