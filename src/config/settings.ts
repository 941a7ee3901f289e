import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { AgentConfig, ConfigFile, Settings } from '../schema/index.ts';

/** Fills in every default. Relative folders lie beside the configuration (`folder`). The value is frozen: rooms only read it. */
export function toSettings(config: ConfigFile, prompts: Record<string, string>, folder: string): Settings {
  const { default: agent, ...agents } = config.agents ?? {};
  return deepFreeze({
    allowedHosts: config.allowedHosts ?? [],
    aliases: config.aliases ?? {},
    snippets: config.snippets ?? {},
    servers: config.servers ?? {},
    notify: { topics: config.notify?.topics ?? [] },
    output: { maxInlineBytes: 50_000, resultTtlSeconds: 3600, previewLines: 10, ...config.output },
    stats: {
      enabled: config.stats?.enabled ?? true,
      reportDirs: (config.stats?.reportDirs ?? []).map((each) => folderAt(folder, each)),
    },
    docs: { baseUrl: 'https://onetool.beycom.online/reference/tools/', ...config.docs },
    fs: config.fs?.root === undefined ? {} : { root: folderAt(folder, config.fs.root) },
    http: { allowedOrigins: [], maxBodyBytes: 4 * 1024 * 1024, allowRemoteConfig: false, ...config.http },
    code: { timeoutMs: 30_000, maxMemoryMb: 64, maxCalls: 1000, ...config.code },
    agents: { default: typeof agent === 'string' ? agent : 'embedded', known: agents as Record<string, AgentConfig> },
    providers: config.providers ?? {},
    sandbox: { driver: 'auto', level: 'basic', memoryMb: 2048, pids: 512, cpus: 2, ...config.sandbox },
    limits: {
      depth: 3,
      agents: 50,
      costUsd: 10,
      sessionsPerProject: 10,
      idleMinutes: 30,
      callerTimeoutMs: 60_000,
      reconnectGraceMs: 10_000,
      ...config.limits,
    },
    retention: config.retention ?? {},
    prompts,
  });
}

/** Each value where config.yaml has it, so that what is shown at a path is what is set there. */
export function asWritten({ agents: { default: agent, known }, ...settings }: Settings): object {
  return { ...settings, agents: { default: agent, ...known } };
}

function folderAt(base: string, path: string): string {
  return path === '~' || path.startsWith('~/') ? join(homedir(), path.slice(1)) : resolve(base, path);
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const each of Object.values(value)) deepFreeze(each);
  }
  return value;
}
