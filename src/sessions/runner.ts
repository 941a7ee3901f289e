import type { AgentEvent, Attachment } from '../agents/index.ts';
import type { LogTransaction } from '../log/index.ts';
import { asFailure, newId, type EventBody, type SessionStatus } from '../schema/index.ts';
import type { MessageRow, SessionRow } from '../store/index.ts';
import { placeAttachments } from './attachments.ts';
import { clip } from './clip.ts';
import type { Change, Conversation } from './conversation.ts';
import type { SessionPorts } from './ports.ts';
import { dropWaiting, failedWith, tellParent, type Ending } from './session-end.ts';

const permissionTimeoutMs = 10 * 60_000;
const cancelGraceMs = 10_000;
const maxEvents = 2_000_000;
const forgotten = 'the agent could not load its transcript';

export interface RunnerHooks {
  /** The agent or its sandbox is over; the room ends the session. */
  onOver(ending: Ending): void;
  onStatus(status: SessionStatus): void;
  /** An agent that cannot go on with its transcript ends the session instead of starting afresh. */
  mustResume?: boolean;
}

/**
 * One live session: takes queued messages to the agent one after the other and stores what comes back. Every
 * change of the agent's state is stored in one transaction with its events and the place in the spool, so a
 * server that dies at any moment goes on from there.
 */
export class Runner {
  readonly sessionId: string;
  readonly conversation: Conversation;
  readonly #ports: SessionPorts;
  readonly #hooks: RunnerHooks;
  readonly #row: Pick<SessionRow, 'owner' | 'project_id' | 'workspace_id'>;
  #turn: number;
  #status: SessionStatus;
  #work: Promise<unknown> = Promise.resolve();
  #reading: Promise<void> | undefined;
  #message: MessageRow | undefined;
  /** Permission requests that wait for an answer. */
  readonly #asking = new Set<string>();
  #cancelTimer: NodeJS.Timeout | undefined;
  #isOver = false;
  #isBeingEnded = false;
  /** When something last happened, on the monotonic clock. */
  activeAt = performance.now();

  constructor(ports: SessionPorts, row: SessionRow, conversation: Conversation, hooks: RunnerHooks) {
    this.#ports = ports;
    this.#row = row;
    this.sessionId = row.id;
    this.conversation = conversation;
    this.#turn = row.turn;
    this.#status = row.status;
    this.#hooks = hooks;
  }

  /** Begins to read; also takes up a message that was running when an earlier server stopped. */
  start(): void {
    const { box } = this.conversation;
    this.#reading = this.#read();
    void box.over.then((reason) => {
      box.link.ended();
      void this.#reading?.then(() => this.#over(failedWith('sandbox.failed', reason)));
    });
    this.#recallPermissions().catch((error: unknown) =>
      this.#ports.logger.error(
        { span: 'session.permissions', err: error, session: this.sessionId },
        'open permission requests were not found again',
      ),
    );
    this.conversation.accept({
      state: this.conversation.state,
      offset: this.conversation.offset,
      events: [],
      deltas: [],
    });
    this.pump();
  }

  /** Looks for the next message if the agent is free. */
  pump(): void {
    this.#serial(() => this.#next()).catch(() => {});
  }

  /** Stops the turn; an agent that does not react is stopped with its sandbox. */
  async cancel(): Promise<void> {
    await this.#serial(async () => {
      if (this.conversation.state.phase !== 'busy') return dropWaiting(this.#ports, this.sessionId);
      await this.#apply(this.conversation.cancel());
      this.#cancelTimer ??= setTimeout(() => {
        const message = `the agent did not stop within ${cancelGraceMs / 1000} s of being asked to`;
        this.#over(failedWith('agent.failed', message));
      }, cancelGraceMs).unref();
    });
  }

  /** The sandbox is about to be stopped on purpose: that its agent ends is no failure. */
  expectEnd(): void {
    this.#isBeingEnded = true;
  }

  /** Reads what is left once the sandbox is gone; bounded, because a forged spool could be endless. */
  async drain(): Promise<void> {
    this.conversation.box.link.ended();
    const timeout = new Promise<void>((resolve) => setTimeout(resolve, 5000).unref());
    await Promise.race([this.#reading, timeout]);
    await this.#work;
    this.close();
  }

  /** Begins nothing more; resolves when what was begun is stored. */
  async settle(): Promise<void> {
    this.close();
    await this.#work;
  }

  close(): void {
    this.#isOver = true;
    clearTimeout(this.#cancelTimer);
  }

  async #read(): Promise<void> {
    try {
      for await (const batch of this.conversation.box.link.records()) {
        await this.#serial(() => this.#apply(this.conversation.fold(batch)));
        if (this.#isOver) return;
      }
    } catch (error) {
      this.#ports.logger.error(
        { span: 'session.events', err: error, session: this.sessionId },
        'a session could not store what its agent said',
      );
      this.#over(failedWith('limit.storage', 'its events could not be stored'));
    }
  }

  async #apply(change: Change): Promise<void> {
    this.activeAt = performance.now();
    for (const delta of change.deltas)
      this.#ports.log.delta({
        type: 'delta',
        session_id: this.sessionId,
        turn: this.#turn,
        of: delta.type,
        text: delta.text,
      });
    const isForgetful = change.state.resumeFailed === true && this.conversation.state.resumeFailed !== true;
    const completion = change.events.findLast((event) => event.type === 'completion');
    const asked: { id: string; key: string }[] = [];
    const newest = await this.#ports.log.write((tx) => {
      let last = -1;
      if (isForgetful)
        tx.append(this.sessionId, this.#turn, { type: 'error', code: 'agent.failed', message: forgotten });
      for (const event of this.#worthTelling(change)) last = this.#store(tx, event, asked) ?? last;
      const patch: Partial<SessionRow> = {
        agent_state: change.state,
        spool_offset: change.offset,
      };
      if (completion) {
        for (const message of this.#ports.tables.messagesNow(this.sessionId, 'running'))
          this.#ports.tables.setMessage(message.id, 'done');
        const hasMore = this.#ports.tables.messagesNow(this.sessionId, 'queued').length > 0;
        if (!hasMore && change.state.phase !== 'ended') this.#setStatus(tx, patch, 'idle');
      }
      this.#ports.tables.update(this.sessionId, patch);
      return last;
    });
    this.conversation.accept(change);
    for (const each of asked) void this.#awaitPermission(each.id, each.key);
    if (completion) {
      clearTimeout(this.#cancelTimer);
      this.#cancelTimer = undefined;
      this.#message = undefined;
    }
    const ending =
      isForgetful && this.#hooks.mustResume ? failedWith('agent.failed', forgotten, true) : endBy(change, newest);
    if (ending) this.#over(ending);
    else if (change.state.phase === 'ready') await this.#next();
  }

  #worthTelling({ events, state }: Change): AgentEvent[] {
    if (!this.#isBeingEnded || state.phase !== 'ended') return events;
    const end = events.findLastIndex((event) => event.type === 'error');
    return events.filter((_, index) => index !== end);
  }

  /** Answers the event's index; what an agent says of its own usage is not believed and not stored. */
  #store(tx: LogTransaction, event: AgentEvent, asked: { id: string; key: string }[]): number | undefined {
    if (event.type === 'usage') return undefined;
    const clipped = clip(event);
    // A finished turn waits for no answer, so its open questions must not be answerable any more.
    if (clipped.type === 'completion' && (this.#asking.size > 0 || asked.length > 0))
      this.#ports.asks.closePermissions(tx, this.sessionId);
    // Drivers count from one in every sandbox, but a session can have several of them.
    if (clipped.type === 'message') clipped.message_id = newId('msg');
    if (clipped.type !== 'permission_request') return tx.append(this.sessionId, this.#turn, clipped as EventBody);
    const { id, eventIndex } = this.#ports.asks.askPermissionIn(tx, {
      sessionId: this.sessionId,
      owner: this.#row.owner,
      turn: this.#turn,
      tool: clipped.tool,
      options: clipped.options,
      timeoutMs: permissionTimeoutMs,
      // Agents may reuse a request number once it was answered; an old answer must not fit a new question.
      key: `${this.#permissionPrefix}${newId('ask')}:${clipped.key}`,
    });
    asked.push({ id, key: clipped.key });
    return eventIndex;
  }

  async #next(): Promise<void> {
    if (this.#isOver || this.#message || this.conversation.state.phase !== 'ready') return;
    const next = (await this.#ports.log.write(() => this.#ports.tables.messagesNow(this.sessionId, 'queued')))[0];
    if (!next) return this.#rest();
    let attachments: Attachment[];
    try {
      attachments = await placeAttachments(this.#ports, this.#row, next.attachments);
    } catch (error) {
      await this.#refuse(next, error);
      return this.#next();
    }
    const change = this.conversation.prompt({ text: next.text, ...(attachments.length > 0 && { attachments }) });
    this.activeAt = performance.now();
    const isBegun = await this.#ports.log.write((tx) => {
      // Another process gave the message up before it knew that we run the session.
      if (this.#ports.tables.messagesNow(this.sessionId, 'queued')[0]?.id !== next.id) return false;
      this.#message = next;
      this.#turn = next.turn;
      const patch: Partial<SessionRow> = { agent_state: change.state, turn: next.turn };
      this.#ports.tables.setMessage(next.id, 'running');
      this.#setStatus(tx, patch, 'running');
      tx.append(this.sessionId, next.turn, {
        type: 'message',
        role: 'user',
        text: next.text,
        message_id: next.id,
        ...(next.attachments.length > 0 && { attachments: next.attachments }),
      });
      for (const event of change.events) this.#store(tx, event, []);
      this.#ports.tables.update(this.sessionId, patch);
      return true;
    });
    if (!isBegun) return this.#next();
    this.conversation.accept(change);
  }

  /** A session that came back without a message to work on waits for one. */
  async #rest(): Promise<void> {
    if (this.#status !== 'starting') return;
    await this.#ports.log.write((tx) => {
      const patch: Partial<SessionRow> = {};
      this.#setStatus(tx, patch, 'idle');
      this.#ports.tables.update(this.sessionId, patch);
    });
  }

  /** A message whose attachments cannot be placed ends its own turn, not the session. */
  async #refuse(message: MessageRow, error: unknown): Promise<void> {
    const failure = asFailure(error);
    await this.#ports.log.write((tx) => {
      this.#ports.tables.setMessage(message.id, 'dropped');
      tx.append(this.sessionId, message.turn, { type: 'error', code: failure.code, message: failure.message });
      tx.append(this.sessionId, message.turn, { type: 'completion', stop_reason: 'failed', text: '' });
    });
  }

  #setStatus(tx: LogTransaction, patch: Partial<SessionRow>, status: SessionStatus): void {
    if (this.#status === status) return;
    patch.status = status;
    tx.append(this.sessionId, this.#turn, { type: 'status', status });
    tellParent(this.#ports, tx, this.sessionId, status);
    tx.afterCommit(() => {
      this.#status = status;
      this.#hooks.onStatus(status);
    });
  }

  async #recallPermissions(): Promise<void> {
    const prefix = this.#permissionPrefix;
    const newest = new Map<string, string>();
    for (const { id, key } of await this.#ports.asks.permissions(this.sessionId))
      if (key.startsWith(prefix)) newest.set(key.slice(prefix.length).replace(/^ask_\w+:/, ''), id);
    for (const [key, id] of newest) void this.#awaitPermission(id, key);
  }

  // Agents number their requests from one again in every process.
  get #permissionPrefix(): string {
    return `permission:${this.conversation.box.id}:`;
  }

  async #awaitPermission(askId: string, key: string): Promise<void> {
    this.#asking.add(askId);
    const outcome = await this.#ports.asks.wait(this.sessionId, askId).catch(() => undefined);
    this.#asking.delete(askId);
    if (!outcome) return;
    const choice = outcome.outcome === 'choice' ? outcome.choice : null;
    await this.#serial(async () => {
      if (!this.#isOver) await this.#apply(this.conversation.answer(key, choice));
    }).catch(() => {});
  }

  #over(ending: Ending): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#hooks.onOver(ending);
  }

  /** One change after the other: each starts from the state that the one before has stored. */
  #serial<T>(run: () => Promise<T>): Promise<T> {
    const result = this.#work.then(run);
    this.#work = result.catch((error: unknown) => {
      this.#ports.logger.error(
        { span: 'session.step', err: error, session: this.sessionId },
        'a step of a session failed',
      );
    });
    return result;
  }
}

/** Why a session cannot go on after a change; undefined when it can. */
function endBy({ state, events }: Change, newest: number): Ending | undefined {
  if (state.phase === 'ended') {
    const error = events.findLast((event) => event.type === 'error');
    return failedWith(error?.code ?? 'agent.failed', error?.message ?? 'the agent ended', error !== undefined);
  }
  return newest > maxEvents ? failedWith('limit.storage', `the session has more than ${maxEvents} events`) : undefined;
}
