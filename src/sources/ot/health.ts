import type { Actor, Directory } from '../../schema/index.ts';
import { listedPacks } from './reach.ts';

/** What `ot.health` needs to know of an upstream server. */
export interface ServerHealth {
  name: string;
  status: 'connected' | 'connecting' | 'disconnected' | 'disabled';
  warnings?: readonly string[];
}

export interface HealthDeps {
  directory: Directory;
  version: string;
  /** Waits at most this long for servers that are still connecting. */
  servers: (waitMs: number) => Promise<ServerHealth[]>;
  /** Bundles that are hidden because another one has their name. */
  clashes: () => readonly string[];
  /** Files of the packs folder that could not be loaded, and why. */
  packProblems: () => readonly { file: string; line?: number; message: string }[];
}

/** Language level of the interpreter that runs programs. */
export const pythonLevel = '3.14';
const waitMs = 2000;

/** `ot.health`: what works, and what does not. Only a server that is down degrades. */
export async function health(
  { directory, version, servers, clashes, packProblems }: HealthDeps,
  actor: Actor,
): Promise<Record<string, unknown>> {
  const known = await servers(waitMs);
  const counted = await listedPacks(directory, actor);
  const named = new Set(known.map(({ name }) => name));
  const warnings = [
    ...known.flatMap((server) => (server.warnings ?? []).map((text) => `${server.name}: ${text}`)),
    ...clashes()
      .filter((slug) => !named.has(slug))
      .map((slug) => `${slug}: a local bundle has this name and wins; rename one of them`),
    // Which bundles there are is not for those who may see only some of them.
    ...(actor.bundles === undefined ? packProblems() : []).map(
      ({ file, line, message }) => `${line === undefined ? file : `${file}:${line}`}: ${message.slice(0, 300)}`,
    ),
  ];
  return {
    version,
    python: pythonLevel,
    node: process.versions.node,
    cwd: process.cwd(),
    registry: { status: 'ok', tool_count: counted.reduce((sum, { count }) => sum + count, 0) },
    proxy: {
      status: known.some(({ status }) => status === 'disconnected') ? 'degraded' : 'ok',
      server_count: known.length,
      servers: Object.fromEntries(known.map(({ name, status }) => [name, status])),
    },
    ...(warnings.length > 0 && { warnings: [...new Set(warnings)] }),
  };
}
