import type { Project } from '../projects/index.ts';
import { fail } from '../schema/index.ts';
import type { SessionRow } from '../store/index.ts';
import type { SessionPorts } from './ports.ts';

export interface TreeLimits {
  depth: number;
  agents: number;
  cost_usd: number;
}

/** What a tree may use: the limits of its root's project, and no more than those of the project at hand. */
export function treeLimits(root: Project | undefined, here: Project): TreeLimits {
  const above = root?.limits ?? here.limits;
  return {
    depth: Math.min(above.depth, here.limits.depth),
    agents: Math.min(above.agents, here.limits.agents),
    cost_usd: Math.min(above.cost_usd, here.limits.cost_usd),
  };
}

/**
 * Checks, inside the transaction that stores a new session, that there is room for it: so that of two who ask at
 * once only one gets the last place. Throws limit.sessions, limit.depth, limit.agents or limit.cost.
 */
export function demandRoom(
  ports: SessionPorts,
  project: Project,
  parent: SessionRow | undefined,
  limits: TreeLimits,
): void {
  if (!parent) return demandRoot(ports, project);
  if (parent.depth + 1 > limits.depth) throw fail('limit.depth', { depth: parent.depth, limit: limits.depth });
  const used = ports.tables.treeNow(parent.root_id);
  if (used.agents + 1 > limits.agents) throw fail('limit.agents', { count: used.agents });
  if (used.cost_usd + used.reserved_usd >= limits.cost_usd) throw fail('limit.cost', { limit: limits.cost_usd });
}

/** Children count against their tree, roots against their project. */
export function demandRoot(ports: SessionPorts, project: Project): void {
  const most = ports.settings().limits.sessionsPerProject;
  const count = ports.tables.liveRootsNow(project.id);
  if (count >= most) throw fail('limit.sessions', { ref: project.id, count });
}
