import type { Sandbox } from '../driver.ts';
import { readLabels, type ContainerFacts } from './container-spec.ts';

/** What we read of an engine's description of a container. */
export interface Container {
  Config?: { Labels?: Record<string, string> };
  State?: {
    Running?: boolean;
    Status?: string;
    OOMKilled?: boolean;
    Error?: string;
    StartedAt?: string;
    ExitCode?: number;
  };
}

export type DescribedContainer = Sandbox & { facts?: ContainerFacts };

/** A container as a sandbox. `reasons` holds why we killed one; engines only know that it was killed. */
export function describeContainer(
  container: Container,
  driver: 'docker' | 'podman',
  reasons: ReadonlyMap<string, string>,
): DescribedContainer {
  const { id, labels, facts } = readLabels(container.Config?.Labels ?? {});
  const state = container.State ?? {};
  const isRunning = state.Running === true || state.Status === 'created';
  const missing = facts?.missing ?? [];
  const reason = reasons.get(id) ?? (state.OOMKilled ? 'out of memory' : state.Error || undefined);
  return {
    id,
    driver,
    labels,
    status: isRunning ? 'running' : 'exited',
    startedAt: String(state.StartedAt ?? ''),
    level: missing.length > 0 ? 'basic' : 'strict',
    missing,
    ...(isRunning ? {} : { exitCode: Number(state.ExitCode ?? 0), ...(reason ? { reason } : {}) }),
    ...(facts ? { facts } : {}),
  };
}

/** What others may know of it. */
export const publicly = ({ facts: _facts, ...sandbox }: DescribedContainer): Sandbox => sandbox;
