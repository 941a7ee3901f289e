import {
  fail,
  type Actor,
  type CallerDeclaration,
  type Failure,
  type ProviderConfig,
  type SessionEvent,
  type SessionStatus,
} from '../schema/index.ts';
import type { ExecResult, ExecSpec } from '../sandbox/index.ts';
import type { SessionRow } from '../store/index.ts';
import { isLive, type MessageAnswer } from './admission.ts';
import { reserve, type Reservation } from './budget.ts';
import { caretaker } from './caretaker.ts';
import { endElsewhere, isElsewhere } from './elsewhere.ts';
import { lifecycle } from './lifecycle.ts';
import type { MessageArgs } from './message-extras.ts';
import { messageIntake } from './message-intake.ts';
import { removePlace } from './place.ts';
import { pool } from './pool.ts';
import type { SessionPorts } from './ports.ts';
import { isAdmin, isOwned, isVisible, owned, visible } from './reach.ts';
import { dropWaiting } from './session-end.ts';
import { startQueue } from './start-queue.ts';
import { utilityBoxes, type UtilityBoxes } from './utility-boxes.ts';

const maxAnswerBytes = 3 * 1024 * 1024;

export interface EventsAnswer {
  session_id: string;
  status: SessionStatus;
  events: SessionEvent[];
  last_index: number;
  has_more: boolean;
}

/** Which session's caller answers: the session that declared the tools, or one above it that lets them be inherited. */
export interface CallerOf {
  sessionId: string;
  owner: string;
  turn: number;
  declaration: CallerDeclaration;
}

/** Agents at work: one state machine per session, the same path for roots and children. */
export interface Sessions {
  message(actor: Actor, args: MessageArgs): Promise<MessageAnswer>;
  spawn(actor: Actor, args: MessageArgs): Promise<MessageAnswer>;
  get(actor: Actor, sessionId: string): Promise<SessionRow>;
  /** Newest first, older than `before`, at most `limit`. */
  list(
    actor: Actor,
    filter: { project_id?: string; status?: string },
    page?: { before?: string; limit: number },
  ): Promise<SessionRow[]>;
  events(actor: Actor, sessionId: string, after: number, max: number): Promise<EventsAnswer>;
  cancel(actor: Actor, sessionId: string): Promise<SessionStatus>;
  answer(actor: Actor, sessionId: string, requestId: string, choice: string): Promise<void>;
  answerCaller(
    actor: Actor,
    sessionId: string,
    requestId: string,
    given: { result?: unknown; error?: string },
  ): Promise<void>;
  end(actor: Actor, sessionId: string): Promise<void>;
  cleanup(actor: Actor, filter: { project_id?: string; maxAgeMs: number }): Promise<number>;
  /** Runs a command in the sandbox of a session. */
  exec(actor: Actor, projectId: string, sessionId: string, spec: ExecSpec): Promise<ExecResult>;
  callerFor(sessionId: string): Promise<CallerOf | undefined>;
  /** The actor that speaks through a session's own socket, without a key. */
  actorOf(sessionId: string): Promise<Actor>;
  /** The provider that a session's agent uses; undefined when it uses none. */
  providerOf(sessionId: string): Promise<ProviderConfig | undefined>;
  /** Sets money aside for a request to a model; throws limit.cost. */
  reserve(sessionId: string, estimateUsd: number): Promise<Reservation>;
  /** Counts as activity of the session. */
  touch(sessionId: string): void;
  onStatus(listener: (sessionId: string, status: SessionStatus) => void): () => void;
  /** Fires when a session's caller declared its tools anew. */
  onDeclared(listener: (sessionId: string) => void | Promise<void>): () => void;
  readonly utility: UtilityBoxes;
  /** Ids of the sandboxes that wait for a session. */
  warmBoxes(): string[];
  /** Takes over what an earlier server left, and begins to look after sandboxes. */
  start(): Promise<void>;
  /** Leaves sandboxes running that can be re-attached. */
  stop(): Promise<void>;
}

export function sessions(ports: SessionPorts): Sessions {
  const starts = startQueue();
  const life = lifecycle(ports, starts);
  const warm = pool(ports, starts);
  const utility = utilityBoxes(ports, starts);
  const care = caretaker(ports, life, utility, () => [...life.places(), ...warm.places(), ...utility.places()]);
  const intake = messageIntake(ports, life, warm, () => care.isStopping);

  ports.projects.onDelete(async (projectId) => {
    await warm.dropProject(projectId);
    await utility.stop(projectId);
    for (const row of await ports.tables.list({ project_id: projectId }))
      if (row.place) await removePlace(ports.runFolder, row.place);
  });

  async function events(actor: Actor, sessionId: string, after: number, max: number): Promise<EventsAnswer> {
    const row = await visible(ports, actor, sessionId);
    const stored = await ports.log.readStored(sessionId, after, max + 1);
    const chosen: SessionEvent[] = [];
    let bytes = 0;
    for (const event of stored.slice(0, max)) {
      bytes += event.json.length;
      if (bytes > maxAnswerBytes && chosen.length > 0) break;
      chosen.push(JSON.parse(event.json) as SessionEvent);
    }
    return {
      session_id: sessionId,
      status: row.status,
      events: chosen,
      last_index: chosen.at(-1)?.index ?? after,
      has_more: chosen.length < stored.length,
    };
  }

  return {
    utility,
    warmBoxes: () => warm.ready(),
    message: (actor, args) => intake.accept(actor, args, false),
    spawn: (actor, args) => intake.accept(actor, args, true),
    get: (actor, sessionId) => visible(ports, actor, sessionId),
    async list(actor, filter, { before, limit } = { limit: 100 }) {
      if (filter.project_id !== undefined && actor.kind !== 'session')
        await ports.projects.get(actor, filter.project_id);
      const found: SessionRow[] = [];
      for (let after = before; found.length < limit;) {
        const rows = await ports.tables.page(filter, after, limit);
        for (const row of rows) if (found.length < limit && (await isVisible(ports, actor, row))) found.push(row);
        if (rows.length < limit) break;
        after = rows.at(-1)!.id;
      }
      return found;
    },
    events,
    async cancel(actor, sessionId) {
      const row = await owned(ports, actor, sessionId, 'cancel its turn');
      if (!isLive(row)) throw stateFailure(row, 'cancelling');
      const runner = life.runner(sessionId);
      if (isElsewhere(ports, row)) await ports.log.write(() => ports.tables.update(row.id, { wanted: 'cancel' }));
      else await (runner ? runner.cancel() : dropWaiting(ports, sessionId));
      return (await ports.tables.get(sessionId))?.status ?? row.status;
    },
    async answer(actor, sessionId, requestId, choice) {
      await visible(ports, actor, sessionId);
      await ports.asks.answer(
        sessionId,
        requestId,
        { principal: actor.principal, isAdmin: isAdmin(actor) },
        { outcome: 'choice', choice },
      );
    },
    async answerCaller(actor, sessionId, requestId, given) {
      await visible(ports, actor, sessionId);
      const outcome =
        given.error === undefined
          ? ({ outcome: 'result', value: given.result ?? null } as const)
          : ({ outcome: 'error', message: given.error } as const);
      await ports.asks.answer(sessionId, requestId, { principal: actor.principal, isAdmin: isAdmin(actor) }, outcome);
    },
    async end(actor, sessionId) {
      const row = await owned(ports, actor, sessionId, 'end it');
      if (!isLive(row)) return;
      if (isElsewhere(ports, row)) return endElsewhere(ports, row);
      await life.finish(sessionId, { status: 'ended' });
    },
    async cleanup(actor, { project_id, maxAgeMs }) {
      if (project_id !== undefined) await ports.projects.get(actor, project_id);
      let deleted = 0;
      const before = new Date(Date.now() - maxAgeMs).toISOString();
      for (const row of await ports.tables.list({ ...(project_id !== undefined && { project_id }), isLive: false })) {
        if (row.updated_at > before || !(await isVisible(ports, actor, row)) || !(await isOwned(ports, actor, row)))
          continue;
        const isGone = await ports.log.write((tx) => {
          const now = ports.tables.getNow(row.id);
          if (!now || isLive(now)) return false;
          tx.remove(row.id);
          ports.asks.remove(tx, row.id);
          ports.tables.remove(row.id);
          return true;
        });
        if (!isGone) continue;
        deleted += 1;
        if (row.place) await removePlace(ports.runFolder, row.place);
      }
      return deleted;
    },
    async exec(actor, projectId, sessionId, spec) {
      const row = await owned(ports, actor, sessionId, 'run commands in it');
      if (row.project_id !== projectId) throw fail('session.not_found', { ref: sessionId });
      const box = life.runner(sessionId)?.conversation.box;
      if (!box)
        throw stateFailure(
          row,
          isLive(row) ? 'running a command from this server process, which did not start it,' : 'running a command',
        );
      return box.driver.exec(box.id, spec);
    },
    async callerFor(sessionId) {
      for (let row = await ports.tables.peek(sessionId), isSelf = true; row; isSelf = false) {
        if (row.caller && (isSelf || row.caller.inherit))
          return { sessionId: row.id, owner: row.owner, turn: row.turn, declaration: row.caller };
        row = row.parent_id ? await ports.tables.peek(row.parent_id) : undefined;
      }
      return undefined;
    },
    async actorOf(sessionId) {
      const row = await ports.tables.peek(sessionId);
      const project = row && (await ports.projects.load(row.project_id));
      if (!row || !project || !isLive(row)) throw fail('session.not_found', { ref: sessionId });
      return {
        kind: 'session',
        door: 'socket',
        principal: `session:${sessionId}`,
        level: project.wish.bundles ? 'write' : 'read',
        projects: [project.id],
        bundles: project.bundles,
        sessionId,
        projectId: project.id,
      };
    },
    async providerOf(sessionId) {
      const row = await ports.tables.peek(sessionId);
      if (!row || !isLive(row)) return undefined;
      const { providers } = ports.settings();
      const name = ports.agent(row.agent).config.provider;
      return name === undefined ? Object.values(providers)[0] : providers[name];
    },
    reserve: (sessionId, estimateUsd) => reserve(ports, sessionId, estimateUsd),
    touch(sessionId) {
      const runner = life.runner(sessionId);
      if (runner) runner.activeAt = performance.now();
    },
    onStatus: (listener) => life.onStatus(listener),
    onDeclared: (listener) => intake.onDeclared(listener),
    start: () => care.start(),
    stop: () => care.stop(warm.close, utility.close),
  };
}

function stateFailure(row: SessionRow, action: string): Failure {
  return fail('session.state', { ref: row.id, status: row.status, action });
}
