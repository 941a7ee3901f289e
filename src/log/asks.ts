import { fail, newId, type EventBody, type PermissionOption } from '../schema/index.ts';
import type { AskRow, AskTables } from '../store/index.ts';
import { asAsk, checkChoice, closingEvent, idOfKey, outcomeOf, type Ask, type AskOutcome } from './ask-row.ts';
import { askTimers } from './ask-timers.ts';
import type { EventLog, LogTransaction } from './event-log.ts';
import type { Presence } from './presence.ts';

interface Question {
  sessionId: string;
  /** Principal of whoever may answer. */
  owner: string;
  turn: number;
  tool: string;
  timeoutMs: number;
  /** The asking side's own name for this request: the same key finds the same ask again. */
  key?: string;
}

/** Stored questions with a deadline, answered once. */
export interface Asks {
  /** Stores the question and its `caller_tool_request` event in one transaction. */
  askCaller(question: Question & { arguments: unknown; onDisconnect: 'fail' | 'wait' }): Promise<Ask>;
  /** Stores the question and its `permission_request` event in one transaction. */
  askPermission(question: Question & { options: PermissionOption[] }): Promise<Ask>;
  /** The same inside a transaction that stores more. */
  askPermissionIn(tx: LogTransaction, question: Question & { options: PermissionOption[] }): Ask;
  /** All permission requests of a session under their keys, open or not, oldest first: for whoever goes on after a restart. */
  permissions(sessionId: string): Promise<{ id: string; key: string }[]>;
  /** Resolves with the outcome, whoever causes it, also after a restart; an abort closes the ask as an error. */
  wait(sessionId: string, askId: string, signal?: AbortSignal): Promise<AskOutcome>;
  /** Closes an open ask of this session; ask.not_found for a stranger, ask.closed when late or second. */
  answer(
    sessionId: string,
    askId: string,
    by: { principal: string; isAdmin: boolean },
    outcome: AskOutcome,
  ): Promise<void>;
  open(sessionId: string): Promise<Ask[]>;
  /** The caller declared its tools again: from now on only streams that are open, or will be, count as seen. */
  declared(sessionId: string, owner: string): Promise<void>;
  /** Takes over a session's open asks after a restart: their owners have the grace period to come back. */
  adopt(sessionId: string): Promise<void>;
  /** Closes the permission requests of a session whose turn is over, inside the transaction that says so. */
  closePermissions(tx: LogTransaction, sessionId: string): void;
  /** Closes all open asks of a session inside the transaction that ends it. */
  closeAll(tx: LogTransaction, sessionId: string): void;
  remove(tx: LogTransaction, sessionId: string): void;
  close(): void;
}

export interface AsksOptions {
  log: EventLog;
  tables: AskTables;
  presence: Presence;
  reconnectGraceMs: () => number;
}

const retryMs = 1000;

export function asks({ log, tables, presence, reconnectGraceMs }: AsksOptions): Asks {
  /** What is open as far as this process knows; rows change only once, when they are closed. */
  const known = new Map<string, AskRow>();
  const waiters = new Map<string, { sessionId: string; resolves: ((outcome: AskOutcome) => void)[] }>();
  /** By session and principal: who had a stream since the last declaration, and until when one from before a restart counts. */
  const seen = new Map<string, Map<string, number>>();
  /** Open questions of an earlier version, which did not make their id from their key. */
  const olderIds = new Map<string, string>();
  const timers = askTimers();

  const unlisten = [
    presence.onCome((sessionId, principal) => quietly(onCome(sessionId, principal))),
    presence.onGone((sessionId, principal) => quietly(disconnect(sessionId, principal))),
    log.onForeignCommit(() => quietly(lookForAnswers())),
  ];

  const room: Asks = {
    async askCaller(question) {
      const ask = await log.write((tx) =>
        storeIn(tx, 'caller_tool', question, question.onDisconnect, question.arguments, (id, deadline) => ({
          type: 'caller_tool_request',
          request_id: id,
          tool: question.tool,
          arguments: question.arguments,
          deadline,
        })),
      );
      if (ask.isOpen && question.onDisconnect === 'fail') await checkPresence(ask);
      return ask;
    },
    askPermission: (question) => log.write((tx) => room.askPermissionIn(tx, question)),
    askPermissionIn(tx, question) {
      return storeIn(tx, 'permission', question, 'wait', question.options, (id, deadline) => ({
        type: 'permission_request',
        request_id: id,
        tool: question.tool,
        options: question.options,
        deadline,
      }));
    },
    permissions: (sessionId) => tables.permissions(sessionId),
    async wait(sessionId, askId, signal) {
      const settled = new Promise<AskOutcome>((resolve) => {
        const waiting = waiters.get(askId) ?? { sessionId, resolves: [] };
        waiting.resolves.push(resolve);
        waiters.set(askId, waiting);
      });
      if (!known.has(askId)) {
        const row = await tables.get(sessionId, askId);
        if (!row) {
          waiters.delete(askId);
          throw fail('ask.not_found', { ref: askId });
        }
        if (row.state !== 'open') settle(askId, outcomeOf(row));
      }
      const onAbort = (): void =>
        quietly(finish(sessionId, askId, { outcome: 'error', message: 'the request was cancelled' }));
      if (signal?.aborted) onAbort();
      signal?.addEventListener('abort', onAbort, { once: true });
      return settled.finally(() => signal?.removeEventListener('abort', onAbort));
    },
    async answer(sessionId, askId, by, outcome) {
      const row = known.get(askId) ?? (await tables.get(sessionId, askId));
      const isTheirs = row?.session_id === sessionId && (by.isAdmin || row.owner === by.principal);
      if (!row || !isTheirs || (row.kind === 'permission') !== (outcome.outcome === 'choice'))
        throw fail('ask.not_found', { ref: askId });
      if (outcome.outcome === 'choice' && row.state === 'open') checkChoice(row, outcome.choice);
      if (!(await finish(sessionId, askId, outcome))) throw fail('ask.closed', { ref: askId });
    },
    async open(sessionId) {
      return (await tables.open(sessionId)).map(asAsk);
    },
    async declared(sessionId, owner) {
      const isThere = presence.isPresent(sessionId, owner);
      // Whoever is there was noted when they came.
      if (!isThere) seen.get(sessionId)?.delete(owner);
      await log.write(() => tables.markSeen(sessionId, owner, isThere));
    },
    async adopt(sessionId) {
      const until = Date.now() + reconnectGraceMs();
      for (const principal of await tables.seenIn(sessionId))
        noteSeen(sessionId, principal, presence.isPresent(sessionId, principal) ? 0 : until);
      for (const row of await tables.open(sessionId)) {
        known.set(row.id, row);
        if (row.ask_key !== null && row.id !== idOfKey(sessionId, row.ask_key))
          olderIds.set(`${sessionId} ${row.ask_key}`, row.id);
        watchDeadline(row);
        if (row.on_disconnect === 'fail') await checkPresence(asAsk(row));
      }
    },
    closePermissions(tx, sessionId) {
      for (const row of tables.openNow(sessionId))
        if (row.kind === 'permission') close(tx, sessionId, row.id, { outcome: 'disconnected' });
    },
    closeAll(tx, sessionId) {
      for (const row of tables.openNow(sessionId)) close(tx, sessionId, row.id, { outcome: 'disconnected' });
    },
    remove(_tx, sessionId) {
      tables.remove(sessionId);
      for (const row of known.values()) if (row.session_id === sessionId) known.delete(row.id);
      seen.delete(sessionId);
    },
    close() {
      for (const stop of unlisten) stop();
      timers.close();
    },
  };
  return room;

  function storeIn(
    tx: LogTransaction,
    kind: AskRow['kind'],
    question: Question,
    onDisconnect: 'fail' | 'wait',
    payload: unknown,
    event: (id: string, deadline: string) => EventBody,
  ): Ask {
    const id =
      question.key === undefined
        ? newId('ask')
        : (olderIds.get(`${question.sessionId} ${question.key}`) ?? idOfKey(question.sessionId, question.key));
    const again = question.key === undefined ? undefined : tables.getNow(question.sessionId, id);
    if (again) return asAsk(again);
    const deadline = Date.now() + question.timeoutMs;
    const row: AskRow = {
      id,
      session_id: question.sessionId,
      kind,
      owner: question.owner,
      turn: question.turn,
      tool: question.tool,
      payload: JSON.stringify(payload ?? null),
      deadline,
      on_disconnect: onDisconnect,
      ask_key: question.key ?? null,
      event_index: tx.append(question.sessionId, question.turn, event(id, new Date(deadline).toISOString())),
      state: 'open',
      answer: null,
      timeout_ms: question.timeoutMs,
    };
    tables.insert(row);
    tx.afterCommit(() => {
      known.set(id, row);
      watchDeadline(row);
    });
    return asAsk(row);
  }

  function watchDeadline(row: AskRow): void {
    const expire = (): void => {
      // A full disk must not keep an ask open for ever.
      finish(row.session_id, row.id, { outcome: 'timeout', timeoutMs: row.timeout_ms }).catch(() =>
        timers.set(row.id, 'deadline', Date.now() + retryMs, expire),
      );
    };
    timers.set(row.id, 'deadline', row.deadline, expire);
  }

  /** No stream of the owner now: an error at once if one was seen before, the deadline alone if none ever was. */
  async function checkPresence(ask: Ask): Promise<void> {
    const grace = seen.get(ask.sessionId)?.get(ask.owner);
    if (grace === undefined || presence.isPresent(ask.sessionId, ask.owner)) return;
    if (grace <= Date.now()) return void (await finish(ask.sessionId, ask.id, { outcome: 'disconnected' }));
    timers.set(ask.id, 'grace', grace, () => {
      if (!presence.isPresent(ask.sessionId, ask.owner))
        quietly(finish(ask.sessionId, ask.id, { outcome: 'disconnected' }));
    });
  }

  async function onCome(sessionId: string, principal: string): Promise<void> {
    const isKnown = seen.get(sessionId)?.has(principal) ?? false;
    noteSeen(sessionId, principal, 0);
    if (!isKnown) await log.write(() => tables.markSeen(sessionId, principal, true));
  }

  function noteSeen(sessionId: string, principal: string, graceUntil: number): void {
    const those = seen.get(sessionId);
    if (those) those.set(principal, graceUntil);
    else seen.set(sessionId, new Map([[principal, graceUntil]]));
  }

  async function disconnect(sessionId: string, principal: string): Promise<void> {
    for (const row of await tables.open(sessionId))
      if (
        row.owner === principal &&
        row.on_disconnect === 'fail' &&
        row.kind === 'caller_tool' &&
        !presence.isPresent(sessionId, principal)
      )
        await finish(sessionId, row.id, { outcome: 'disconnected' });
  }

  async function finish(sessionId: string, askId: string, outcome: AskOutcome): Promise<boolean> {
    return log.write((tx) => close(tx, sessionId, askId, outcome));
  }

  function close(tx: LogTransaction, sessionId: string, askId: string, outcome: AskOutcome): boolean {
    const row = known.get(askId) ?? tables.getNow(sessionId, askId);
    if (!row || !tables.close(sessionId, askId, outcome.outcome, JSON.stringify(outcome))) return false;
    tx.append(row.session_id, row.turn, closingEvent(row, outcome));
    tx.afterCommit(() => {
      timers.forget(askId);
      settle(askId, outcome);
    });
    return true;
  }

  function settle(askId: string, outcome: AskOutcome): void {
    known.delete(askId);
    const waiting = waiters.get(askId);
    waiters.delete(askId);
    for (const resolve of waiting?.resolves ?? []) resolve(outcome);
  }

  async function lookForAnswers(): Promise<void> {
    const sessionOf = new Map([...known].map(([askId, row]) => [askId, row.session_id]));
    for (const [askId, { sessionId }] of waiters) sessionOf.set(askId, sessionId);
    for (const [askId, sessionId] of sessionOf) {
      const row = await tables.get(sessionId, askId);
      if (row?.state !== 'open') settle(askId, row ? outcomeOf(row) : { outcome: 'disconnected' });
    }
  }
}

/** For work that may fail while the server stops: what is not stored stays open for the process that takes over. */
function quietly(work: Promise<unknown>): void {
  work.catch(() => {});
}
