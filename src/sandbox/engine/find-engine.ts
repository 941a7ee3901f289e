import { stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Sockets at which an engine of this name may listen, most wanted first; only those that exist. */
export async function engineSockets(
  name: 'docker' | 'podman',
  env: NodeJS.ProcessEnv = process.env,
): Promise<string[]> {
  const runtime = env['XDG_RUNTIME_DIR'];
  // podman answers behind DOCKER_HOST as well; who it is shows when it is asked.
  const told = name === 'docker' ? env['DOCKER_HOST'] : (env['CONTAINER_HOST'] ?? env['DOCKER_HOST']);
  const usual =
    name === 'docker'
      ? [
          '/var/run/docker.sock',
          ...(runtime ? [join(runtime, 'docker.sock')] : []),
          join(homedir(), '.docker/run/docker.sock'),
        ]
      : ['/run/podman/podman.sock', ...(runtime ? [join(runtime, 'podman/podman.sock')] : [])];
  // Whoever names an engine wants that one and no other. Folders are mounted, so it must be on this machine.
  const named = told?.startsWith('unix://') ? [told.slice('unix://'.length)] : [];
  const candidates = told ? named : usual;
  const found: string[] = [];
  for (const path of candidates)
    if (
      await stat(path).then(
        (entry) => entry.isSocket(),
        () => false,
      )
    )
      found.push(path);
  return found;
}
