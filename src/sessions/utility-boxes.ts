import { doorEnvironment, secretValues, startBox, type LiveBox } from './launch.ts';
import type { Project } from '../projects/index.ts';
import type { ExecResult, ExecSpec } from '../sandbox/index.ts';
import { binding, makePlace, removePlace } from './place.ts';
import type { SessionPorts } from './ports.ts';

/** One sandbox per project for commands of people: same image and same closure as its sessions have. */
export interface UtilityBoxes {
  /** Starts it, or answers that it runs. */
  start(project: Project, workspaceId?: string): Promise<LiveBox>;
  status(projectId: string): 'running' | 'stopped';
  stop(projectId: string): Promise<void>;
  exec(project: Project, workspaceId: string | undefined, spec: ExecSpec): Promise<ExecResult>;
  logs(projectId: string, tail: number): Promise<string>;
  places(): string[];
  close(): Promise<void>;
}

export function utilityBoxes(ports: SessionPorts): UtilityBoxes {
  const boxes = new Map<string, { box: Promise<LiveBox>; projectId: string; place?: string }>();
  const keyOf = (projectId: string, workspaceId: string): string => `${projectId} ${workspaceId}`;

  async function make(entry: { place?: string }, project: Project, workspaceId: string): Promise<LiveBox> {
    const place = await makePlace(ports.runFolder);
    entry.place = place.name;
    try {
      return await startBox(ports, {
        project, workspaceId, place, binding: binding(place, project.id), from: 0, labels: { kind: 'utility', node: ports.node },
      });
    } catch (error) {
      await removePlace(ports.runFolder, place.name);
      throw error;
    }
  }

  function start(project: Project, workspaceId = project.default_workspace_id): Promise<LiveBox> {
    const key = keyOf(project.id, workspaceId);
    const known = boxes.get(key);
    if (known) return known.box;
    const entry: { box: Promise<LiveBox>; projectId: string; place?: string } = { projectId: project.id, box: Promise.resolve() as never };
    entry.box = make(entry, project, workspaceId);
    boxes.set(key, entry);
    const forget = (): void => void (boxes.get(key) === entry && boxes.delete(key));
    entry.box.then((box) => box.over.then(forget), forget);
    return entry.box;
  }

  async function remove(key: string): Promise<void> {
    const entry = boxes.get(key);
    const box = await entry?.box.catch(() => undefined);
    if (box) {
      await box.remove();
      await removePlace(ports.runFolder, box.place.name);
    }
    if (boxes.get(key) === entry) boxes.delete(key);
  }

  return {
    start,
    status: (projectId) => ([...boxes.values()].some((entry) => entry.projectId === projectId) ? 'running' : 'stopped'),
    async stop(projectId) {
      for (const [key, entry] of boxes) if (entry.projectId === projectId) await remove(key);
    },
    async exec(project, workspaceId, spec) {
      const box = await start(project, workspaceId);
      const env = { ...doorEnvironment(project, undefined), ...project.wish.env, ...(await secretValues(ports, project)), ...spec.env };
      return box.driver.exec(box.id, { ...spec, env });
    },
    async logs(projectId, tail) {
      const entry = [...boxes.values()].find((each) => each.projectId === projectId);
      const box = await entry?.box.catch(() => undefined);
      return box ? box.driver.logs(box.id, tail) : '';
    },
    places: () => [...boxes.values()].flatMap((entry) => (entry.place ? [entry.place] : [])),
    async close() {
      for (const key of boxes.keys()) await remove(key);
    },
  };
}

