import { hash } from 'node:crypto';
import type { Project } from '../projects/index.ts';
import type { SessionRow } from '../store/index.ts';
import { Conversation } from './conversation.ts';
import { agentCommand, agentSpec, startBox, type LiveBox } from './launch.ts';
import { binding, makePlace, removePlace, type Place } from './place.ts';
import type { SessionPorts } from './ports.ts';
import type { StartQueue } from './start-queue.ts';

const maxSlots = 3;
const slotLifeMs = 15 * 60_000;
const readyWithinMs = 30_000;

/** What a slot must match to fit a session. */
export interface SlotWish {
  project: Project;
  workspaceId: string;
  agent: string;
  model: string | null;
  permissions: SessionRow['permissions'];
  /** A granted key lies in the agent's environment; in a slot it is worth nothing until a session claims it. */
  hasKey: boolean;
}

export interface Slot {
  box: LiveBox;
  conversation: Conversation;
  apiKey?: string;
  /** Ends the slot when nobody claims it; cleared at the claim, because it would keep the whole slot in memory. */
  expiry?: NodeJS.Timeout;
  /** What its agent was started with; secrets and configuration may be others by the time it is claimed. */
  madeOf: string;
}

/** Sandboxes that wait for a session, one per kind of session that was used before. */
export interface Pool {
  /** Also undefined when the waiting slot was made from settings that no longer hold. */
  claim(wish: SlotWish): Promise<Slot | undefined>;
  /** What was claimed is looked after by its session from now on. */
  handOver(slot: Slot): void;
  /** Returns a slot that was claimed in vain, unless its key has become valid: such a slot is not used again. */
  unclaim(wish: SlotWish, slot: Slot): Promise<void>;
  /** Fills a slot of this kind in the background. */
  refill(wish: SlotWish): void;
  places(): string[];
  /** Boxes that wait, ready for a message or for their agent's start. */
  ready(): string[];
  dropProject(projectId: string): Promise<void>;
  close(): Promise<void>;
}

export function pool(ports: SessionPorts, starts: StartQueue): Pool {
  /** The oldest first. */
  const slots = new Map<string, Slot>();
  const filling = new Map<string, Promise<void>>();
  const dropping = new Set<Promise<void>>();
  const places = new Set<string>();
  const closing = new AbortController();

  /** Never fails: what is left is found by the reconcile loop. */
  const clear = async (place: string, box?: LiveBox): Promise<void> => {
    await box?.remove().catch(() => {});
    await removePlace(ports.runFolder, place).catch(() => {});
    places.delete(place);
  };
  const keep = (key: string, slot: Slot): void => {
    slots.set(key, slot);
    slot.expiry = setTimeout(() => void drop(key, slot), slotLifeMs).unref();
  };
  const takeOut = (key: string, slot: Slot): void => {
    clearTimeout(slot.expiry);
    if (slots.get(key) === slot) slots.delete(key);
  };
  const drop = async (key: string, slot: Slot): Promise<void> => {
    takeOut(key, slot);
    const gone = clear(slot.box.place.name, slot.box);
    dropping.add(gone);
    await gone;
    dropping.delete(gone);
  };

  async function fill(wish: SlotWish, key: string): Promise<void> {
    let place: Place | undefined;
    let box: LiveBox | undefined;
    const isUp = await starts.enter(wish.project.id, closing.signal, true);
    try {
      if (!isUp) throw new Error('the server stops');
      place = await makePlace(ports.runFolder);
      places.add(place.name);
      box = await startBox(ports, {
        project: wish.project,
        workspaceId: wish.workspaceId,
        place,
        binding: binding(place, wish.project.id),
        from: 0,
        labels: { kind: 'slot', node: ports.node },
      });
      const apiKey = wish.hasKey ? ports.tokens.draw() : undefined;
      const madeOf = await ingredients(ports, wish);
      const conversation = await openAgent(ports, wish, box, apiKey, closing.signal);
      if (closing.signal.aborted || slots.has(key)) throw new Error('not needed any more');
      const slot: Slot = { box, conversation, madeOf, ...(apiKey !== undefined && { apiKey }) };
      keep(key, slot);
      void box.over.then(async () => void (slots.get(key) === slot && (await drop(key, slot))));
    } catch (error) {
      ports.logger.debug({ span: 'sandbox.warm', err: error, project: wish.project.id }, 'no sandbox is kept warm');
      if (place) await clear(place.name, box);
    } finally {
      isUp?.();
    }
  }

  return {
    async claim(wish) {
      const key = keyOf(wish);
      const slot = slots.get(key);
      if (!slot) return undefined;
      takeOut(key, slot);
      if (slot.madeOf === (await ingredients(ports, wish).catch(() => undefined))) return slot;
      void drop(key, slot);
      return undefined;
    },
    handOver: (slot) => void places.delete(slot.box.place.name),
    async unclaim(wish, slot) {
      if (!closing.signal.aborted && slot.apiKey === undefined && !slots.has(keyOf(wish))) keep(keyOf(wish), slot);
      else await drop(keyOf(wish), slot);
    },
    refill(wish) {
      const key = keyOf(wish);
      if (
        closing.signal.aborted ||
        wish.workspaceId !== wish.project.default_workspace_id ||
        slots.has(key) ||
        filling.has(key) ||
        filling.size >= maxSlots
      )
        return;
      // The kind that was used last will likely be used next, so the oldest slot makes room.
      const [oldest] = slots;
      if (oldest && slots.size + filling.size >= maxSlots) void drop(...oldest);
      filling.set(
        key,
        fill(wish, key).finally(() => filling.delete(key)),
      );
    },
    places: () => [...places],
    ready: () => [...slots.values()].map((slot) => slot.box.id),
    async dropProject(projectId) {
      await Promise.all(filling.values());
      await Promise.all(
        [...slots].filter(([, slot]) => slot.box.binding.projectId === projectId).map(([key, slot]) => drop(key, slot)),
      );
    },
    async close() {
      closing.abort();
      await Promise.all(filling.values());
      await Promise.all([...dropping, ...[...slots].map(([key, slot]) => drop(key, slot))]);
    },
  };
}

/** Starts the agent of a slot and waits until it can take a message. */
async function openAgent(
  ports: SessionPorts,
  wish: SlotWish,
  box: LiveBox,
  apiKey: string | undefined,
  stop: AbortSignal,
): Promise<Conversation> {
  const agent = ports.agent(wish.agent);
  const { state } = agent.driver.open(
    agentSpec(agent, { model: wish.model, permissions: wish.permissions, hasKey: wish.hasKey }),
  );
  const conversation = new Conversation(box, agent.driver, state, 0);
  box.link.send({ id: `${box.id}:start`, do: 'start', agent: await agentCommand(ports, wish.project, agent, apiKey) });
  conversation.accept({ state, offset: 0, events: [], deltas: [] });
  const giveUp = (): void => box.link.ended();
  const late = setTimeout(giveUp, readyWithinMs);
  stop.addEventListener('abort', giveUp);
  void box.over.then(giveUp);
  try {
    for await (const batch of box.link.records()) {
      const change = conversation.fold(batch);
      conversation.accept(change);
      if (change.state.phase === 'ready') return conversation;
      if (change.state.phase === 'ended' || stop.aborted) break;
    }
  } finally {
    clearTimeout(late);
    stop.removeEventListener('abort', giveUp);
  }
  throw new Error('the agent did not become ready');
}

async function ingredients(ports: SessionPorts, wish: SlotWish): Promise<string> {
  const agent = ports.agent(wish.agent);
  const parts = [agent.config, await agentCommand(ports, wish.project, agent, undefined), ports.settings().sandbox];
  return hash('sha256', JSON.stringify(parts));
}

function keyOf({ project, workspaceId, agent, model, permissions, hasKey }: SlotWish): string {
  return JSON.stringify([project.id, workspaceId, project.wish.sandbox.image ?? '', agent, model, permissions, hasKey]);
}
