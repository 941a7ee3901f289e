import { stat } from 'node:fs/promises';
import { openConfig } from './config/index.ts';
import { examine, machineChecks, type Check, type DoctorReport } from './observe/index.ts';
import { homePaths } from './store/index.ts';

/** Everything that can be looked at on this machine without a server; a running one adds what only it knows. */
export function localChecks(root: string): Check[] {
  return [...machineChecks(root), { name: 'config', look: () => configFinding(root) }];
}

/** `oubliette doctor`: looks at this machine and this home, and asks nothing of a server but whether it answers. */
export function runDoctor(options: { home: string }): Promise<DoctorReport> {
  return examine(localChecks(options.home));
}

async function configFinding(root: string): ReturnType<Check['look']> {
  const home = homePaths(root);
  // Opening would write an example, and a doctor only looks.
  if (!(await stat(home.config).catch(() => undefined))) return { status: 'ok', text: 'defaults (no config.yaml)' };
  const config = await openConfig(home);
  const { allowedHosts, servers } = config.current();
  config.close();
  return {
    status: 'ok',
    text: `config.yaml is valid: ${Object.keys(servers).length} MCP servers, ${allowedHosts.length} allowed hosts`,
  };
}
