import type { EngineClient } from './engine-client.ts';

/** What an engine is and what of level strict it cannot give. */
export interface EngineFacts {
  name: 'docker' | 'podman';
  version: string;
  isRootless: boolean;
  missing: string[];
  notes: string[];
}

/** Fails as EngineClient.ask does. */
export async function probeEngine(client: EngineClient): Promise<EngineFacts> {
  const { engine, name } = await client.version();
  const info = (await client.ask('/info')).json() as Record<string, unknown>;
  const security = JSON.stringify(info['SecurityOptions'] ?? []);
  const isRootless = security.includes('rootless');
  const missing = [
    ...(info['MemoryLimit'] === false ? ['memory limit'] : []),
    ...(info['PidsLimit'] === false ? ['pids limit'] : []),
    ...(info['CpuCfsQuota'] === false ? ['cpu limit'] : []),
    ...(security.includes('seccomp') ? [] : ['seccomp']),
  ];
  return { name, version: engine, isRootless, missing, notes: missing.map((what) => `${name} cannot give: ${what}`) };
}
