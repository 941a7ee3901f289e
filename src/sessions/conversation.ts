import type { AgentDriver, AgentEvent, AgentState, Delta, Prompt, Step } from '../agents/index.ts';
import type { SpoolRecord } from '../sandbox/index.ts';
import type { LiveBox } from './launch.ts';

/** What a batch of records, or something we did, changed. */
export interface Change {
  state: AgentState;
  offset: number;
  events: AgentEvent[];
  deltas: Delta[];
}

/**
 * An agent driver at work on one sandbox: folds what comes out of the spool into its state, and sends what the
 * state wants to say. Holds no truth of its own: state and offset are stored by whoever owns it.
 */
export class Conversation {
  readonly box: LiveBox;
  readonly driver: AgentDriver;
  state: AgentState;
  offset: number;
  #sent = new Set<string>();

  constructor(box: LiveBox, driver: AgentDriver, state: AgentState, offset: number) {
    this.box = box;
    this.driver = driver;
    this.state = state;
    this.offset = offset;
  }

  /** The change a batch of records makes; pure until `accept`. */
  fold(records: readonly SpoolRecord[]): Change {
    const change: Change = { state: this.state, offset: this.offset, events: [], deltas: [] };
    for (const record of records) {
      const step = this.#step(change.state, record);
      if (step) {
        change.state = step.state;
        change.events.push(...step.events);
        change.deltas.push(...step.deltas);
      }
      change.offset = record.next;
    }
    return change;
  }

  prompt(prompt: Prompt): Change {
    return this.#of(this.driver.prompt(this.state, prompt));
  }

  cancel(): Change {
    return this.#of(this.driver.cancel(this.state));
  }

  answer(key: string, optionId: string | null): Change {
    return this.#of(this.driver.answer(this.state, key, optionId));
  }

  /** Takes over a change that is stored, and sends what it has to tell the agent. */
  accept(change: Change): void {
    this.state = change.state;
    this.offset = change.offset;
    for (const { id, line } of this.state.outbox) {
      if (this.#sent.has(id)) continue;
      this.#sent.add(id);
      this.box.link.send({ id: this.#outside(id), do: 'write', line });
    }
    const waiting = new Set(this.state.outbox.map((each) => each.id));
    for (const id of this.#sent) if (!waiting.has(id)) this.#sent.delete(id);
  }

  #of(step: Step): Change {
    return { state: step.state, offset: this.offset, events: step.events, deltas: step.deltas };
  }

  #step(state: AgentState, record: SpoolRecord): Step | undefined {
    switch (record.kind) {
      case 'out':
      case 'err':
        return this.driver.line(state, record.line, record.kind);
      case 'done': {
        const id = this.#inside(record.id);
        return id === undefined ? undefined : this.driver.delivered(state, id, record.error);
      }
      case 'state':
        return this.driver.process(state, record.state);
      default:
        return undefined;
    }
  }

  // A session may have several sandboxes in its life but only one spool, so ids must not collide.
  #outside(id: string): string {
    return `${this.box.id}:${id}`;
  }

  #inside(id: string): string | undefined {
    const prefix = `${this.box.id}:`;
    return id.startsWith(prefix) ? id.slice(prefix.length) : undefined;
  }
}
