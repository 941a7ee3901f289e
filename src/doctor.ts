import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { Catalog } from './catalog/index.ts';
import { openConfig, type ConfigPaths, type ConfigRoom } from './config/index.ts';
import { examine, machineChecks, type Check, type DoctorReport, type Finding } from './observe/index.ts';
import { openSandboxes, type Sandboxes } from './sandbox/index.ts';
import type { Settings } from './schema/index.ts';
import type { Packs } from './sources/packs/index.ts';
import type { McpServers } from './sources/mcp/index.ts';
import { homePaths } from './store/index.ts';

/** `oubliette doctor`: looks at this machine and this home, and asks nothing of a server but whether it answers. */
export async function runDoctor(options: { home: string }): Promise<DoctorReport> {
  const home = homePaths(options.home);
  // A doctor only looks: what a sandbox driver tries out goes elsewhere.
  const scratch = await mkdtemp(join(tmpdir(), 'oubliette-doctor-')).catch((error: Error) => error);
  const sandboxes = scratch instanceof Error ? undefined : openSandboxes({ folder: scratch });
  try {
    return await examine([
      ...machineChecks(home.root),
      { name: 'config', look: () => withConfig(home, async (settings) => configFinding(settings, [])) },
      // What is wrong with the file is said once, by the check above.
      { name: 'agents', look: () => withConfig(home, agentFindings).catch(() => []) },
      { name: 'sandbox', look: async () => (sandboxes ? sandboxFindings(sandboxes) : noScratch(scratch as Error)) },
    ]);
  } finally {
    await sandboxes?.close();
    if (typeof scratch === 'string') await rm(scratch, { recursive: true, force: true });
  }
}

const noScratch = ({ message }: Error): Finding => ({
  status: 'fail',
  text: `there is no place for temporary files: ${message}`,
  advice: 'Set TMPDIR to a folder that is there and may be written to.',
});

export interface DoctorPorts {
  home: string;
  config: ConfigRoom;
  catalog: Catalog;
  servers: McpServers;
  sandboxes: Sandboxes;
  /** Absent when packs are switched off. */
  packs: Packs | undefined;
}

/** `doctor_run`: the same, and what only the running server knows. */
export function examineServer({
  home,
  config,
  catalog,
  servers,
  sandboxes,
  packs,
}: DoctorPorts): Promise<DoctorReport> {
  return examine([
    ...machineChecks(home),
    { name: 'config', look: async () => configFinding(config.current(), config.report().errors) },
    { name: 'catalog', look: async () => catalogFindings(catalog) },
    { name: 'servers', look: () => serverFindings(servers) },
    { name: 'packs', look: async () => packFindings(packs) },
    { name: 'agents', look: () => agentFindings(config.current()) },
    { name: 'sandbox', look: () => sandboxFindings(sandboxes) },
  ]);
}

async function withConfig(
  home: ConfigPaths,
  look: (settings: Settings) => Promise<Finding | Finding[]>,
): ReturnType<Check['look']> {
  // Opening would write an example, and a doctor only looks.
  if (!(await stat(home.config).catch(() => undefined))) return { status: 'ok', text: 'defaults (no config.yaml)' };
  const config = await openConfig(home);
  config.close();
  return look(config.current());
}

function configFinding({ servers, allowedHosts }: Settings, errors: string[]): Finding | Finding[] {
  if (errors.length > 0)
    return errors.map((text) => ({
      status: 'fail',
      text,
      advice: 'Mend the file; until then the last good one keeps serving.',
    }));
  return {
    status: 'ok',
    text: `valid: ${Object.keys(servers).length} MCP servers, ${allowedHosts.length} allowed hosts`,
  };
}

function packFindings(packs: Packs | undefined): Finding[] {
  if (!packs) return [{ status: 'ok', text: 'switched off' }];
  const broken = packs.problems().map(({ file, line, message }) => ({
    status: 'warn' as const,
    text: `${line === undefined ? file : `${file}:${line}`}: ${message}`,
    advice: 'Mend the file; it is loaded again when it is saved.',
  }));
  const warnings = packs.warnings().map((text) => ({ status: 'warn' as const, text }));
  return [{ status: 'ok', text: `${packs.bundles().length} packs` }, ...broken, ...warnings];
}

function catalogFindings(catalog: Catalog): Finding[] {
  const corrupt = [...catalog.corruptFiles].map(([path, reason]) => ({
    status: 'fail' as const,
    text: `${path}: ${reason}`,
    advice: 'Repair the file or delete the tool; the others are not affected.',
  }));
  const clashes = catalog.clashes.map((text) => ({ status: 'warn' as const, text }));
  return [
    ...corrupt,
    ...clashes,
    { status: 'ok', text: `${catalog.bundles().length} bundles, ${catalog.toolCount} tools` },
  ];
}

async function serverFindings(servers: McpServers): Promise<Finding[]> {
  const all = await servers.status();
  if (all.length === 0) return [{ status: 'ok', text: 'none configured' }];
  return all.map(({ name, status, error }) => ({
    status: status === 'disconnected' && error ? 'warn' : 'ok',
    text: `${name} is ${status}${error ? `: ${error}` : ''}`,
    ...(error && { advice: `See its last words: oubliette server logs ${name}` }),
  }));
}

async function agentFindings({ agents }: Settings): Promise<Finding[]> {
  return Promise.all(
    Object.entries(agents.known).map(async ([name, { driver, command }]): Promise<Finding> => {
      if (driver === 'embedded' || !command) return { status: 'ok', text: `${name} is built in` };
      return (await isProgram(command))
        ? { status: 'ok', text: `${name}: ${command}` }
        : {
            status: 'warn',
            text: `${name}: there is no program ${command} on this machine`,
            advice: 'Install it, or put it into the image of the project.',
          };
    }),
  );
}

async function isProgram(command: string): Promise<boolean> {
  const places = command.includes('/')
    ? [command]
    : (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, command));
  const found = await Promise.all(places.map((path) => stat(path).catch(() => undefined)));
  return found.some((each) => each?.isFile());
}

async function sandboxFindings(sandboxes: Sandboxes): Promise<Finding[]> {
  const probes = await sandboxes.probes(true);
  const findings = probes.map(({ driver, available, version, level, missing, notes }): Finding => {
    if (!available)
      return {
        status: 'ok',
        text: `${driver} is not available: ${notes.join(' ').replace(/^No sandbox can be started: /, '')}`,
      };
    const lacks = missing.length > 0 ? `, without ${missing.join(', ')}` : '';
    return {
      status: 'ok',
      text: `${driver}${version ? ` ${version}` : ''} gives ${level}${lacks}`,
      ...(notes.length > 0 && { advice: notes.join(' ') }),
    };
  });
  if (probes.some((probe) => probe.available)) return findings;
  return [
    ...findings,
    {
      status: 'fail',
      text: 'no sandbox can be started, so no agent can work here',
      advice: 'Install bubblewrap, podman or docker.',
    },
  ];
}
