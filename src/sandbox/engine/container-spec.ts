import { readFileSync } from 'node:fs';
import { insidePaths } from '../../schema/index.ts';
import type { SandboxSpec } from '../driver.ts';
import { sandboxUser } from '../sandbox-user.ts';

const mib = 1024 * 1024;
export const labelPrefix = 'oubliette.';
/** Ours, so that nobody's labels can be mistaken for them. */
export const boxLabel = `${labelPrefix}box`;
export const factsLabel = `${labelPrefix}facts`;
const userLabel = (key: string): string => `${labelPrefix}label.${key}`;

/** What must be known of a container after a restart of the server. */
export interface ContainerFacts {
  mcp: string;
  workspace: string;
  spool: string;
  diskMb: number;
  missing: string[];
}

export function labelsOf(spec: SandboxSpec, facts: ContainerFacts): Record<string, string> {
  const own = Object.fromEntries(Object.entries(spec.labels).map(([key, value]) => [userLabel(key), value]));
  return { ...own, [boxLabel]: spec.id, [factsLabel]: JSON.stringify(facts) };
}

export function readLabels(labels: Record<string, string>): {
  id: string;
  labels: Record<string, string>;
  facts?: ContainerFacts;
} {
  const prefix = userLabel('');
  const own = Object.entries(labels).filter(([key]) => key.startsWith(prefix));
  let facts: ContainerFacts | undefined;
  try {
    facts = JSON.parse(labels[factsLabel] ?? 'null') ?? undefined;
  } catch {
    // Someone else's container with our label: no facts, so nothing is done with it.
  }
  return {
    id: labels[boxLabel] ?? '',
    labels: Object.fromEntries(own.map(([key, value]) => [key.slice(prefix.length), value])),
    ...(facts ? { facts } : {}),
  };
}

export const labelFilter = (labels: Record<string, string>): string =>
  JSON.stringify({ label: [boxLabel, ...Object.entries(labels).map(([key, value]) => `${userLabel(key)}=${value}`)] });

/** The body of the engine's create call: as isolated as level strict asks, whatever the level. */
export function containerBody(
  spec: SandboxSpec,
  image: string,
  facts: ContainerFacts,
  how: { isRootlessPodman: boolean; seccompFile?: string },
) {
  const { uid, gid } = sandboxUser();
  const { limits } = spec;
  const tmpBytes = ((limits.fileMb ?? 1024) * mib) / 4;
  const hard = hardLimits();
  const ulimit = (Name: string, wanted: number) => {
    const value = Math.min(wanted, hard.get(Name) ?? wanted);
    return { Name, Soft: value, Hard: value };
  };
  const bind = (Source: string, Target: string, ReadOnly: boolean) => ({
    Type: 'bind',
    Source,
    Target,
    ReadOnly,
    BindOptions: { Propagation: 'rprivate' },
  });
  return {
    Image: image,
    User: `${uid}:${gid}`,
    WorkingDir: insidePaths.workspace,
    Entrypoint: [insidePaths.init],
    Cmd: spec.command ?? [insidePaths.node, insidePaths.supervisor],
    Env: Object.entries({ PATH: '/usr/local/bin:/usr/bin:/bin', HOME: insidePaths.home, ...spec.env }).map(
      ([name, value]) => `${name}=${value}`,
    ),
    Labels: labelsOf(spec, facts),
    Hostname: 'sandbox',
    Tty: false,
    OpenStdin: false,
    HostConfig: {
      NetworkMode: 'none',
      ReadonlyRootfs: true,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges', ...(how.seccompFile ? [`seccomp=${how.seccompFile}`] : [])],
      Privileged: false,
      PidsLimit: limits.pids,
      Memory: limits.memoryMb * mib,
      MemorySwap: limits.memoryMb * mib,
      NanoCpus: Math.round(limits.cpus * 1e9),
      Ulimits: [
        ulimit('nofile', 8192),
        ulimit('nproc', 16384),
        ulimit('core', 0),
        ulimit('fsize', (limits.fileMb ?? 1024) * mib),
      ],
      Mounts: [
        bind(spec.workspace, insidePaths.workspace, false),
        bind(spec.mcp, insidePaths.mcp, true),
        bind(spec.spool, insidePaths.spool, false),
      ],
      Tmpfs: { '/tmp': `rw,nosuid,nodev,size=${tmpBytes},mode=1777` },
      ShmSize: 64 * mib,
      IpcMode: 'private',
      RestartPolicy: { Name: 'no' },
      LogConfig: { Type: 'json-file', Config: { 'max-size': '4m' } },
      ...(how.isRootlessPodman ? { UsernsMode: 'keep-id' } : {}),
    },
  };
}

/** Our own hard limits: an engine in the same place cannot go beyond them. */
function hardLimits(): Map<string, number> {
  const names: Record<string, string> = {
    'Max open files': 'nofile',
    'Max processes': 'nproc',
    'Max file size': 'fsize',
  };
  const limits = new Map<string, number>();
  for (const line of readFileSync('/proc/self/limits', 'utf8').split('\n')) {
    const [, label, , hard] = /^(\S.*?)\s{2,}(\S+)\s+(\S+)/.exec(line) ?? [];
    const name = label && names[label];
    if (name && hard !== 'unlimited') limits.set(name, Number(hard));
  }
  return limits;
}
