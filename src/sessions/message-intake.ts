import { fail, newId, type Actor } from '../schema/index.ts';
import type { SessionRow } from '../store/index.ts';
import { storeMessage, storeSpawn, type MessageAnswer } from './admission.ts';
import type { Lifecycle } from './lifecycle.ts';
import { admitExtras, type Extras, type MessageArgs } from './message-extras.ts';
import { findTarget, type Target } from './message-target.ts';
import { placeAt } from './place.ts';
import type { Pool, Slot, SlotWish } from './pool.ts';
import type { SessionPorts } from './ports.ts';
import { mintKey } from './session-key.ts';

const declaredWithinMs = 500;
const refillWithinMs = 1000;

/** How messages come in: the first begins a session, later ones continue it, and a repeated one is answered as before. */
export interface MessageIntake {
  accept(actor: Actor, args: MessageArgs, isSpawn: boolean): Promise<MessageAnswer>;
  /** Fires when a session's caller declared its tools anew. */
  onDeclared(listener: (sessionId: string) => void | Promise<void>): () => void;
}

export function messageIntake(
  ports: SessionPorts,
  life: Lifecycle,
  warm: Pool,
  isStopping: () => boolean,
): MessageIntake {
  const declared = new Set<(sessionId: string) => void | Promise<void>>();

  async function accept(actor: Actor, args: MessageArgs, isSpawn: boolean): Promise<MessageAnswer> {
    if (isStopping()) throw fail('server.stopping');
    const known = await answered(actor, args);
    if (known) return known;
    const target = await findTarget(ports, actor, args, isSpawn);
    let answer: MessageAnswer | undefined;
    try {
      const extras = await admitExtras(ports, actor, args, target.project);
      answer = await (target.session ? goOn(actor, args, target, extras) : begin(actor, args, target, extras));
      return answer;
    } finally {
      if (answer?.workspace_id !== target.workspace.id) await dropWorkspace(actor, args, target);
    }
  }

  /** Removes a workspace that was made for this message alone, since nobody would ever find it. */
  async function dropWorkspace(actor: Actor, args: MessageArgs, { workspace }: Target): Promise<void> {
    if (!args.create_workspace || args.workspace_id !== undefined || args.external_id !== undefined) return;
    await ports.projects.deleteWorkspace(actor, workspace.id).catch(() => {});
  }

  /** Tells the sandbox about the new tools before it gets the message, as long as it listens. */
  async function tellDeclared(sessionId: string, owner: string): Promise<void> {
    await ports.asks.declared(sessionId, owner);
    const told = Promise.allSettled([...declared].map(async (listener) => listener(sessionId)));
    await Promise.race([told, new Promise((resolve) => setTimeout(resolve, declaredWithinMs).unref())]);
  }

  function answered(actor: Actor, args: MessageArgs): Promise<MessageAnswer | undefined> {
    const key = args.idempotency_key;
    if (key === undefined) return Promise.resolve(undefined);
    return ports.log.write(() => known(actor, key));
  }

  function known(actor: Actor, key: string | undefined): MessageAnswer | undefined {
    const answer = key === undefined ? undefined : ports.tables.answerOfKeyNow(actor.principal, key);
    return answer === undefined ? undefined : (JSON.parse(answer) as MessageAnswer);
  }

  function keep(actor: Actor, args: MessageArgs, answer: MessageAnswer): void {
    if (args.idempotency_key !== undefined)
      ports.tables.keepAnswer(actor.principal, args.idempotency_key, answer.session_id, JSON.stringify(answer));
  }

  async function begin(actor: Actor, args: MessageArgs, target: Target, extras: Extras): Promise<MessageAnswer> {
    const agent = args.agent ?? target.project.agent;
    const model = args.model ?? target.project.model ?? null;
    ports.agent(agent);
    await ports.projects.sandboxFor(target.project);
    const id = newId('ses');
    const wish: SlotWish = {
      project: target.project,
      workspaceId: target.workspace.id,
      agent,
      model,
      permissions: args.permissions ?? 'auto',
      hasKey: extras.grant !== undefined,
    };
    const slot = await warm.claim(wish);
    try {
      const apiKey = await mintKey(
        ports,
        { id, project_id: target.project.id, key_grant: extras.grant ?? null },
        slot?.apiKey,
      );
      const { answer, isFirst } = await ports.log.write((tx) => {
        const before = known(actor, args.idempotency_key);
        if (before) return { answer: before, isFirst: false };
        const stored = storeSpawn(ports, tx, actor, target, args, {
          id,
          agent,
          model,
          ...extras,
          node: ports.node,
          ...(slot && { warm: warmColumns(slot) }),
        });
        keep(actor, args, stored);
        return { answer: stored, isFirst: true };
      });
      if (isFirst) {
        life.launch((await ports.tables.get(id))!, async () => apiKey, slot);
        if (slot) warm.handOver(slot);
        refillAfter(id, wish);
      } else await takeBack(id, wish, slot);
      return answer;
    } catch (error) {
      await takeBack(id, wish, slot);
      throw error;
    }
  }

  /** Starting a sandbox strains the machine, so the session that just claimed one goes first. */
  function refillAfter(sessionId: string, wish: SlotWish): void {
    const refill = (): void => {
      ignore();
      clearTimeout(late);
      warm.refill(wish);
    };
    const ignore = life.onStatus(
      (id, now) => void (id === sessionId && now !== 'starting' && now !== 'running' && refill()),
    );
    const late = setTimeout(refill, refillWithinMs).unref();
  }

  async function takeBack(sessionId: string, wish: SlotWish, slot: Slot | undefined): Promise<void> {
    await ports.tokens.revokeOfSession(sessionId);
    if (slot) await warm.unclaim(wish, slot);
  }

  async function goOn(actor: Actor, args: MessageArgs, target: Target, extras: Extras): Promise<MessageAnswer> {
    ports.agent(target.session!.agent);
    const { resumed, ...answer } = await ports.log.write((tx) => {
      const before = known(actor, args.idempotency_key);
      if (before) return { ...before, resumed: undefined };
      const { resumed: isResumed, ...stored } = storeMessage(ports, tx, actor, target, args, {
        ...extras,
        node: ports.node,
      });
      keep(actor, args, stored);
      return { ...stored, resumed: isResumed ? ports.tables.getNow(stored.session_id) : undefined };
    });
    const told = extras.caller && tellDeclared(answer.session_id, target.session!.owner);
    if (resumed) {
      // Immediately, so that whoever ends the session from now on finds something to end.
      life.launch(resumed, async () => {
        await told;
        return mintKey(ports, resumed);
      });
    }
    await told;
    if (!resumed) life.runner(answer.session_id)?.pump();
    return answer;
  }

  return {
    accept,
    onDeclared(listener) {
      declared.add(listener);
      return () => declared.delete(listener);
    },
  };

  function warmColumns(slot: Slot): Partial<SessionRow> {
    return {
      place: placeAt(ports.runFolder, slot.box.place.name).name,
      box: { id: slot.box.id, driver: slot.box.driver.name },
      agent_state: slot.conversation.state,
      spool_offset: slot.conversation.offset,
    };
  }
}
