import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** Servers of this very process: one that has stopped must not look alive because its process is. */
const ours = new Set<string>();

/** Names this server so that others on the same home can tell whether it still runs, also after its pid is used again. */
export function nodeIdentity(): string {
  const node = `${process.pid}.${startOf(process.pid) ?? 0}.${randomBytes(4).toString('hex')}`;
  ours.add(node);
  return node;
}

/** The server of this name has stopped; anyone may take over what it left. */
export function retireNode(node: string): void {
  ours.delete(node);
}

export function isNodeAlive(node: string | null | undefined): boolean {
  if (!node) return false;
  const [pid, start] = node.split('.').map(Number);
  if (!pid || !Number.isInteger(pid)) return false;
  if (pid === process.pid) return ours.has(node);
  if (start) return startOf(pid) === start;
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** When a process started, in clock ticks; undefined where there is no such process or no /proc. */
function startOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]);
  } catch {
    return undefined;
  }
}
