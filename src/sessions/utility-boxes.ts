import type { Project } from '../projects/index.ts';
import type { ExecResult, ExecSpec } from '../sandbox/index.ts';
import { fail } from '../schema/index.ts';
import type { UtilityRow } from '../store/index.ts';
import { doorEnvironment, reattachBox, secretValues, startBox, type LiveBox } from './launch.ts';
import { isNodeAlive } from './node-identity.ts';
import { binding, makePlace, placeAt, removePlace } from './place.ts';
import type { SessionPorts } from './ports.ts';
import type { StartQueue } from './start-queue.ts';

/** One sandbox per project for people's commands, with the image and the isolation of its sessions. */
export interface UtilityBoxes {
  /** Starts it, or answers that it runs; it runs until it is stopped, also through restarts of the server. */
  start(project: Project): Promise<LiveBox>;
  status(projectId: string): 'running' | 'stopped';
  stop(projectId: string): Promise<void>;
  /** Runs a command; a sandbox that was started only for commands ends with the server. */
  exec(project: Project, workspaceId: string | undefined, spec: ExecSpec): Promise<ExecResult>;
  logs(projectId: string, tail: number): Promise<string>;
  places(): string[];
  /** Takes over from a server that is gone: the same sandbox if it still runs, otherwise a new one. */
  takeOver(): Promise<void>;
  close(): Promise<void>;
}

interface Entry {
  box: Promise<LiveBox>;
  projectId: string;
  place?: string;
  isKept?: boolean;
  /** True once it is to be removed, even if somebody still waits for its start. */
  isStopped?: boolean;
}

export function utilityBoxes(ports: SessionPorts, starts: StartQueue): UtilityBoxes {
  const boxes = new Map<string, Entry>();
  const closing = new AbortController();
  const keyOf = (projectId: string, workspaceId: string): string => `${projectId} ${workspaceId}`;

  async function make(entry: Entry, project: Project, workspaceId: string): Promise<LiveBox> {
    const isUp = await starts.enter(project.id, closing.signal);
    if (!isUp) throw fail('server.stopping');
    return makeNow(entry, project, workspaceId).finally(isUp);
  }

  async function makeNow(entry: Entry, project: Project, workspaceId: string): Promise<LiveBox> {
    const place = await makePlace(ports.runFolder);
    entry.place = place.name;
    try {
      return await startBox(ports, {
        project,
        workspaceId,
        place,
        binding: binding(place, project.id),
        from: 0,
        labels: { kind: 'utility', node: ports.node },
      });
    } catch (error) {
      await removePlace(ports.runFolder, place.name);
      throw error;
    }
  }

  function enter(project: Project, workspaceId: string, open: (entry: Entry) => Promise<LiveBox>): Entry {
    const key = keyOf(project.id, workspaceId);
    const known = boxes.get(key);
    if (known && !known.isStopped) return known;
    const opening = Promise.withResolvers<LiveBox>();
    const entry: Entry = { projectId: project.id, box: opening.promise };
    opening.resolve(open(entry));
    boxes.set(key, entry);
    const forget = (): void => void (boxes.get(key) === entry && boxes.delete(key));
    entry.box.then(
      (box) =>
        box.over.then(async () => {
          forget();
          await box.remove().catch(() => {});
          await removePlace(ports.runFolder, box.place.name).catch(() => {});
          if (entry.isKept) await ports.log.write(() => ports.utilityTables.drop(project.id)).catch(() => {});
        }),
      forget,
    );
    return entry;
  }

  const started = (project: Project, workspaceId = project.default_workspace_id): Entry =>
    enter(project, workspaceId, (entry) => make(entry, project, workspaceId));

  async function start(project: Project): Promise<LiveBox> {
    const entry = started(project);
    const box = await entry.box;
    const isKept = await ports.log.write(() => {
      if (!isThere(entry)) return false;
      ports.utilityTables.keep({
        project_id: project.id,
        workspace_id: project.default_workspace_id,
        place: box.place.name,
        box_id: box.id,
        driver: box.driver.name,
        node: ports.node,
      });
      return true;
    });
    if (!isKept) throw fail('sandbox.failed', { reason: 'it was stopped while it was started' });
    entry.isKept = true;
    return box;
  }

  const isThere = (entry: Entry): boolean => !entry.isStopped && [...boxes.values()].includes(entry);

  async function remove(key: string): Promise<void> {
    const entry = boxes.get(key);
    if (entry) entry.isStopped = true;
    const box = await entry?.box.catch(() => undefined);
    if (box) {
      await box.remove();
      await removePlace(ports.runFolder, box.place.name);
    }
    if (boxes.get(key) === entry) boxes.delete(key);
  }

  async function goOn(row: UtilityRow): Promise<void> {
    const project = await ports.projects.load(row.project_id);
    if (!project) return ports.log.write(() => ports.utilityTables.drop(row.project_id));
    const driver = ports.drivers.find((each) => each.name === row.driver);
    const found = await driver?.get(row.box_id);
    const place = placeAt(ports.runFolder, row.place);
    if (driver && found?.status === 'running') {
      const entry = enter(project, row.workspace_id, (mine) => {
        mine.place = place.name;
        return reattachBox(ports, {
          id: row.box_id,
          driver,
          project,
          workspaceId: row.workspace_id,
          place,
          binding: binding(place, project.id),
          labels: {},
          from: 0,
        });
      });
      entry.isKept = true;
      await entry.box;
    } else {
      if (found) await driver?.remove(row.box_id);
      await removePlace(ports.runFolder, row.place);
      await start(project);
    }
  }

  return {
    start,
    status: (projectId) => ([...boxes.values()].some((entry) => entry.projectId === projectId) ? 'running' : 'stopped'),
    async stop(projectId) {
      for (const entry of boxes.values()) if (entry.projectId === projectId) entry.isStopped = true;
      await ports.log.write(() => ports.utilityTables.drop(projectId));
      for (const [key, entry] of boxes) if (entry.projectId === projectId) await remove(key);
    },
    async exec(project, workspaceId, spec) {
      const box = await started(project, workspaceId).box;
      const env = {
        ...doorEnvironment(project, undefined),
        ...project.wish.env,
        ...(await secretValues(ports, project)),
        ...spec.env,
      };
      return box.driver.exec(box.id, { ...spec, env });
    },
    async logs(projectId, tail) {
      const entry = [...boxes.values()].find((each) => each.projectId === projectId);
      const box = await entry?.box.catch(() => undefined);
      return box ? box.driver.logs(box.id, tail) : '';
    },
    places: () => [...boxes.values()].flatMap((entry) => (entry.place ? [entry.place] : [])),
    async takeOver() {
      for (const row of ports.utilityTables.list()) {
        if (isNodeAlive(row.node)) continue;
        // Of several processes only one may take it: the row decides.
        if (!(await ports.log.write(() => ports.utilityTables.claim(row.project_id, row.node, ports.node)))) continue;
        await goOn(row).catch(async (error: unknown) => {
          ports.logger.warn(
            { span: 'sandbox.utility', err: error, project: row.project_id },
            'the utility sandbox of a project could not be taken over',
          );
          // Tried again by whoever looks next.
          await ports.log.write(() => ports.utilityTables.claim(row.project_id, ports.node, row.node)).catch(() => {});
        });
      }
    },
    async close() {
      closing.abort();
      const letGo = async ([key, entry]: [string, Entry]): Promise<void> =>
        entry.isKept ? (await entry.box).leave() : remove(key);
      await Promise.allSettled([...boxes].map(letGo));
    },
  };
}
