import type { AgentState } from '../agents/index.ts';
import type { Project } from '../projects/index.ts';
import type { SandboxDriver } from '../sandbox/index.ts';
import { asFailure, fail, type SessionStatus } from '../schema/index.ts';
import type { SessionRow } from '../store/index.ts';
import { isLive } from './admission.ts';
import { Conversation } from './conversation.ts';
import { endElsewhere, isElsewhere } from './elsewhere.ts';
import { agentCommand, agentSpec, clearPlace, reattachBox, spoolEnd, startBox, type LiveBox } from './launch.ts';
import { isNodeAlive } from './node-identity.ts';
import { binding, isPlace, makePlace, placeAt, type Place } from './place.ts';
import type { Slot } from './pool.ts';
import type { KnownAgent, SessionPorts } from './ports.ts';
import { Runner, type RunnerHooks } from './runner.ts';
import { failedWith, storeEnd, storeRevival, type Ending } from './session-end.ts';
import { mintKey } from './session-key.ts';
import type { StartQueue } from './start-queue.ts';

/** How long a server that stops waits for sandboxes that are being started or ended. */
const leaveWithinMs = 10_000;
const lostSandbox = 'the sandbox was lost while the server was away';

interface Live {
  stop: AbortController;
  started: Promise<void>;
  runner?: Runner;
  box?: LiveBox;
  /** With an agent that was started in the box. */
  conversation?: Conversation;
  /** Gives back its place among those that start. */
  isUp?: () => void;
  place?: string;
  ending?: Promise<void>;
}

/** Sessions that run in this process: started, taken over, ended. */
export interface Lifecycle {
  /** Starts a sandbox for a stored session, in the background; a failure ends the session with its reason. */
  launch(row: SessionRow, apiKey: () => Promise<string | undefined>, slot?: Slot): void;
  /** Goes on with a session of a server that is gone. */
  takeOver(row: SessionRow): Promise<void>;
  /** Resolves when no process of it is left; its children end first. */
  finish(sessionId: string, ending: Ending): Promise<void>;
  /** The same when nobody waits for it; what fails is logged. */
  finishQuietly(sessionId: string, ending: Ending): void;
  /** True while this process starts, runs or ends it. */
  has(sessionId: string): boolean;
  runner(sessionId: string): Runner | undefined;
  runners(): Iterable<Runner>;
  places(): string[];
  /** Begins nothing more and lets go of all sandboxes; ends only those that a next server could not go on with. */
  leave(): Promise<void>;
  onStatus(listener: (sessionId: string, status: SessionStatus) => void): () => void;
}

export function lifecycle(ports: SessionPorts, starts: StartQueue): Lifecycle {
  const live = new Map<string, Live>();
  const listeners = new Set<(sessionId: string, status: SessionStatus) => void>();
  let isLeaving = false;
  const announce = (sessionId: string, status: SessionStatus): void =>
    listeners.forEach((listener) => listener(sessionId, status));

  function begin(row: SessionRow, start: (entry: Live) => Promise<void>): Live {
    const entry: Live = { stop: new AbortController(), started: Promise.resolve() };
    // It is stored as starting, so the next server begins it.
    if (isLeaving) return entry;
    // A session that is resumed at once uses the same folder, so the old sockets must be gone by then.
    const before = live.get(row.id)?.ending?.catch(() => {});
    live.set(row.id, entry);
    const startAfter = async (ending: Promise<void>): Promise<void> => {
      await ending;
      const now = await ports.tables.get(row.id);
      if (now && isLive(now)) await start(entry);
      else if (live.get(row.id) === entry) live.delete(row.id);
    };
    entry.started = (before ? startAfter(before) : start(entry)).catch((error: unknown) => {
      entry.isUp?.();
      if (entry.stop.signal.aborted) return;
      const failure = asFailure(error);
      ports.logger.warn({ span: 'session.start', err: error, session: row.id }, 'a session could not start');
      finishQuietly(row.id, failedWith(failure.code, failure.message));
    });
    return entry;
  }

  /** Goes on in a sandbox of the warm pool, whose agent runs already. */
  async function openSlot(entry: Live, row: SessionRow, slot: Slot): Promise<void> {
    const { remembered } = await prepare(row);
    entry.box = slot.box;
    entry.place = slot.box.place.name;
    slot.box.binding.bind(row.id);
    entry.conversation = slot.conversation;
    await remembered;
    if (!entry.stop.signal.aborted) run(entry, row, slot.conversation);
  }

  /** Starts the agent in a sandbox of its own. */
  async function openNew(
    entry: Live,
    row: SessionRow,
    apiKey: string | undefined,
    hooks: Partial<RunnerHooks> = {},
  ): Promise<void> {
    const { project, agent, remembered } = await prepare(row);
    entry.isUp = await starts.enter(row.project_id, entry.stop.signal);
    if (!entry.isUp) return;
    const box = await newBox(entry, row, project);
    entry.box = box;
    await remembered;
    if (entry.stop.signal.aborted) return;
    const resume = (row.agent_state as AgentState | null)?.agentSession;
    const { state } = agent.driver.open(
      agentSpec(agent, {
        model: row.model,
        permissions: row.permissions,
        hasKey: apiKey !== undefined,
        ...(resume !== undefined && { resume }),
      }),
    );
    const command = await agentCommand(ports, project, agent, apiKey);
    await ports.log.write(() =>
      ports.tables.update(row.id, { box: { id: box.id, driver: box.driver.name }, agent_state: state }),
    );
    if (entry.stop.signal.aborted) return;
    box.link.send({ id: `${box.id}:start`, do: 'start', agent: command });
    run(entry, row, new Conversation(box, agent.driver, state, row.spool_offset), hooks);
  }

  /** What a session starts from. The snapshot of its workspace is taken while the sandbox starts. */
  async function prepare(row: SessionRow): Promise<{ project: Project; agent: KnownAgent; remembered: Promise<void> }> {
    const { project, agent } = await beginnings(row);
    const remembered = ports.projects
      .snapshot({ id: row.workspace_id, project_id: row.project_id })
      .catch((error: unknown) =>
        ports.logger.warn(
          { span: 'session.snapshot', err: error, session: row.id },
          'the workspace could not be remembered for a diff',
        ),
      );
    return { project, agent, remembered };
  }

  async function beginnings(row: SessionRow): Promise<{ project: Project; agent: KnownAgent }> {
    const project = await ports.projects.load(row.project_id);
    if (!project) throw fail('project.not_found', { ref: row.project_id });
    return { project, agent: ports.agent(row.agent) };
  }

  async function newBox(entry: Live, row: SessionRow, project: Project): Promise<LiveBox> {
    const old = row.place === null ? undefined : placeAt(ports.runFolder, row.place);
    if (old) await clearPlace(ports, old);
    const isOld = old !== undefined && (await isPlace(old));
    const place = isOld ? old : await makePlace(ports.runFolder);
    entry.place = place.name;
    // Output that an earlier agent left unread must not be taken for the new one's.
    row.spool_offset = isOld ? await spoolEnd(place, row.spool_offset) : 0;
    await ports.log.write(() => ports.tables.update(row.id, { place: place.name, spool_offset: row.spool_offset }));
    return startBox(ports, {
      project,
      workspaceId: row.workspace_id,
      place,
      binding: binding(place, row.project_id, row.id),
      from: row.spool_offset,
      labels: { kind: 'session', session: row.id, node: ports.node },
    });
  }

  function run(entry: Live, row: SessionRow, conversation: Conversation, hooks: Partial<RunnerHooks> = {}): void {
    entry.conversation = conversation;
    entry.runner = new Runner(ports, row, conversation, {
      onOver: (ending) => finishQuietly(row.id, ending),
      onStatus: (status) => {
        entry.isUp?.();
        announce(row.id, status);
      },
      ...hooks,
    });
    entry.runner.start();
  }

  function finish(sessionId: string, ending: Ending): Promise<void> {
    const entry = live.get(sessionId) ?? { stop: new AbortController(), started: Promise.resolve() };
    live.set(sessionId, entry);
    return (entry.ending ??= end(sessionId, entry, ending).finally(
      () => live.get(sessionId) === entry && live.delete(sessionId),
    ));
  }

  /** Runs unattended: if it fails, the reconcile loop finds the session again, because it has no runner. */
  function finishQuietly(sessionId: string, ending: Ending): void {
    finish(sessionId, ending).catch((error: unknown) =>
      ports.logger.error(
        { span: 'session.end', err: error, session: sessionId },
        'the end of a session could not be stored',
      ),
    );
  }

  async function end(sessionId: string, entry: Live, ending: Ending): Promise<void> {
    entry.stop.abort();
    await entry.started;
    entry.isUp?.();
    await endChildren(sessionId);
    if (entry.box) await stop(entry.box, entry.runner);
    // Before the end is stored: a session that is resumed at once has a new key by then.
    await ports.tokens.revokeOfSession(sessionId);
    try {
      await storeEnd(ports, sessionId, ending);
    } finally {
      // Last, so that clients on its sockets learn that the session is over, not that the server went away.
      await entry.box?.leave();
    }
    // Its agent may have started children up to the moment it was stopped; from now on there are no new ones.
    await endChildren(sessionId);
    announce(sessionId, ending.status);
  }

  async function endChildren(sessionId: string): Promise<void> {
    const children = await ports.tables.list({ parent_id: sessionId, isLive: true });
    await Promise.all(
      children.map((child) =>
        isElsewhere(ports, child)
          ? endElsewhere(ports, child)
          : finish(child.id, { status: 'ended', reason: 'its parent ended' }),
      ),
    );
  }

  async function stop(box: LiveBox, runner: Runner | undefined): Promise<void> {
    runner?.expectEnd();
    try {
      await box.driver.stop(box.id, 1000);
      await box.driver.remove(box.id);
    } catch (error) {
      // The reconcile loop finds it again by its labels once the engine answers.
      ports.logger.error({ span: 'sandbox.remove', err: error, box: box.id }, 'a sandbox could not be removed yet');
    }
    await runner?.drain();
  }

  /** The transcript goes on in a new sandbox; a turn that was under way is over, because doing it twice could do harm. */
  async function revive(sessionId: string, reason: string): Promise<void> {
    const row = await storeRevival(ports, sessionId, reason);
    if (!row) return;
    announce(sessionId, 'starting');
    const mustResume = (row.agent_state as AgentState | null)?.agentSession !== undefined;
    begin(row, async (entry) => openNew(entry, row, await mintKey(ports, row), { mustResume }));
  }

  async function takeOver(row: SessionRow): Promise<void> {
    await ports.asks.adopt(row.id);
    const state = row.agent_state as AgentState | null;
    const driver = ports.drivers.find((each) => each.name === row.box?.driver);
    const found = driver && row.box ? await driver.get(row.box.id).catch(() => undefined) : undefined;
    if (!driver || !row.box || !row.place || !state || state.phase === 'starting') {
      // No message has reached an agent yet, and a key that was on its way is not known any more.
      if (driver && row.box) await driver.remove(row.box.id).catch(() => {});
      begin(row, async (entry) => openNew(entry, row, await mintKey(ports, row)));
      return;
    }
    const place = placeAt(ports.runFolder, row.place);
    const isRunning = found?.status === 'running';
    if (!isRunning && !(await isPlace(place))) return revive(row.id, lostSandbox);
    const old = { id: row.box.id, driver, place, isRunning };
    await begin(row, (entry) => reattach(entry, row, state, old)).started;
  }

  /** Goes on with a sandbox of an earlier server: listens to it if it runs, reads what it left if it does not. */
  async function reattach(
    entry: Live,
    row: SessionRow,
    state: AgentState,
    { id, driver, place, isRunning }: { id: string; driver: SandboxDriver; place: Place; isRunning: boolean },
  ): Promise<void> {
    const { project, agent } = await beginnings(row);
    entry.place = place.name;
    entry.box = await reattachBox(ports, {
      id,
      driver,
      project,
      workspaceId: row.workspace_id,
      place,
      binding: binding(place, row.project_id, row.id),
      labels: {},
      from: row.spool_offset,
    });
    run(entry, row, new Conversation(entry.box, agent.driver, state, row.spool_offset), {
      onOver: (ending) => {
        // A sandbox that dies before its supervisor is heard of was lost while we were away.
        if (isRunning && (entry.box?.link.heardAt ?? 0) > 0) return finishQuietly(row.id, ending);
        abandon(row.id, entry)
          .then(() => revive(row.id, lostSandbox))
          .catch((error: unknown) =>
            ports.logger.error(
              { span: 'session.revive', err: error, session: row.id },
              'a session could not be revived',
            ),
          );
      },
    });
  }

  return {
    launch(row, apiKey, slot) {
      begin(row, async (entry) => {
        if (slot) entry.place = slot.box.place.name;
        const key = await apiKey();
        return slot ? openSlot(entry, row, slot) : openNew(entry, row, key);
      });
      if (isLeaving) void slot?.box.leave();
    },
    takeOver,
    finish,
    finishQuietly,
    has: (sessionId) => live.has(sessionId),
    runner: (sessionId) => live.get(sessionId)?.runner,
    *runners() {
      for (const { runner } of live.values()) if (runner) yield runner;
    },
    places: () => [...live.values()].flatMap((entry) => (entry.place ? [entry.place] : [])),
    async leave() {
      isLeaving = true;
      const late = new Promise((resolve) => setTimeout(resolve, leaveWithinMs).unref());
      await Promise.race([Promise.all([...live.values()].map(letGo)), late]);
    },
    onStatus(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };

  async function letGo(entry: Live): Promise<void> {
    if (entry.ending) return entry.ending.catch(() => {});
    entry.stop.abort();
    await entry.started;
    entry.isUp?.();
    await entry.runner?.settle();
    const phase = entry.conversation?.state.phase ?? 'starting';
    // A session whose agent was not given a message yet is started again by the next server.
    if (phase === 'starting') await entry.box?.remove().catch(() => {});
    else await entry.box?.leave();
  }

  async function abandon(sessionId: string, entry: Live): Promise<void> {
    entry.runner?.close();
    await entry.box?.driver.remove(entry.box.id).catch(() => {});
    await entry.box?.leave();
    if (live.get(sessionId) === entry) live.delete(sessionId);
  }
}

/** True for a session whose server process is gone. */
export const isAbandoned = (row: SessionRow): boolean => isLive(row) && !isNodeAlive(row.node);
