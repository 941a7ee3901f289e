import { randomBytes } from 'node:crypto';
import { RpcError } from '../../sources/mcp/index.ts';
import { canAsk, type Exchange, type JsonObject } from './exchange.ts';

export type Ask = (method: string, params: unknown, signal: AbortSignal) => Promise<unknown>;

/** Work that may have to ask the client; `exchange` is whichever request carries it at the moment. */
export type Work = (live: Live, signal: AbortSignal, ask: Ask) => Promise<JsonObject>;

/** The request that is open right now; a client of the 2026 era comes back with a new one for every round. */
export interface Live {
  exchange: Exchange | undefined;
}

interface Question {
  key: string;
  method: string;
  params: unknown;
  answer: (result: unknown) => void;
  refuse: (error: Error) => void;
}

interface Standing {
  owner: string;
  /** The request that came last: it says what the client can be asked. */
  last: Exchange;
  live: Live;
  control: AbortController;
  outcome: Promise<JsonObject>;
  questions: Question[];
  wake: () => void;
  asked: Promise<void>;
  expiry?: NodeJS.Timeout;
}

const patienceMs = 10 * 60_000;
const mostStanding = 1_000;

/**
 * Lets work ask its client in either era. 2025: a request on the open stream. 2026: the answer is a list of
 * questions, the work waits, and the client's next try brings the answers.
 */
export class Rounds {
  readonly #standing = new Map<string, Standing>();

  /** True when the client comes back to a question of ours. */
  has({ retry, actor }: Exchange): boolean {
    return this.#standing.get(String(retry?.requestState))?.owner === actor.principal;
  }

  async serve(exchange: Exchange, work: Work): Promise<JsonObject> {
    if (exchange.era === 'legacy') return work({ exchange }, exchange.signal, askOnStream(exchange));
    const standing = exchange.retry?.requestState === undefined ? this.#begin(exchange, work) : this.#resume(exchange);
    return this.#wait(standing, exchange);
  }

  #begin(exchange: Exchange, work: Work): Standing {
    const standing: Standing = {
      owner: exchange.actor.principal,
      last: exchange,
      live: { exchange },
      control: new AbortController(),
      outcome: Promise.resolve({}),
      questions: [],
      wake: () => {},
      asked: Promise.resolve(),
    };
    this.#arm(standing);
    const ask: Ask = (method, params) => this.#ask(standing, method, params);
    standing.outcome = work(standing.live, standing.control.signal, ask);
    // It may end while nobody waits.
    standing.outcome.catch(() => {});
    return standing;
  }

  #resume(exchange: Exchange): Standing {
    const state = String(exchange.retry?.requestState);
    const standing = this.#standing.get(state);
    if (!standing || standing.owner !== exchange.actor.principal)
      throw new RpcError(-32602, 'Invalid or expired requestState', { reason: 'invalid_request_state' });
    this.#standing.delete(state);
    clearTimeout(standing.expiry);
    standing.live.exchange = standing.last = exchange;
    const answers = exchange.retry?.inputResponses ?? {};
    const questions = standing.questions;
    standing.questions = [];
    this.#arm(standing);
    for (const question of questions) {
      if (Object.hasOwn(answers, question.key)) question.answer(answers[question.key]);
      else {
        standing.questions.push(question);
        standing.wake();
      }
    }
    return standing;
  }

  #ask(standing: Standing, method: string, params: unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      demandCapability(standing.last, method, params);
      // While the client is away with other questions, this one waits until it comes back.
      standing.questions.push({
        key: `q${randomBytes(4).toString('hex')}`,
        method,
        params,
        answer: resolve,
        refuse: reject,
      });
      // Questions of the same moment travel together.
      setImmediate(standing.wake);
    });
  }

  async #wait(standing: Standing, exchange: Exchange): Promise<JsonObject> {
    const cancel = (): void => standing.control.abort();
    exchange.signal.addEventListener('abort', cancel, { once: true });
    try {
      const first = await Promise.race([standing.outcome.then((result) => ({ result })), standing.asked]);
      return first ? first.result : this.#park(standing);
    } finally {
      exchange.signal.removeEventListener('abort', cancel);
      standing.live.exchange = undefined;
    }
  }

  #park(standing: Standing): JsonObject {
    const state = randomBytes(24).toString('base64url');
    if (this.#standing.size >= mostStanding) this.#giveUp(this.#standing.keys().next().value ?? '');
    this.#standing.set(state, standing);
    standing.expiry = setTimeout(() => this.#giveUp(state), patienceMs);
    standing.expiry.unref();
    const inputRequests = Object.fromEntries(
      standing.questions.map(({ key, method, params }) => [key, { method, params }]),
    );
    return { resultType: 'input_required', inputRequests, requestState: state };
  }

  #giveUp(state: string): void {
    const standing = this.#standing.get(state);
    this.#standing.delete(state);
    if (!standing) return;
    for (const question of standing.questions)
      question.refuse(new RpcError(-32603, 'the client did not come back with an answer'));
    standing.control.abort();
  }

  #arm(standing: Standing): void {
    standing.asked = new Promise((resolve) => (standing.wake = resolve));
  }
}

/** 2025 era: asks on the stream of the request itself. */
export const askOnStream =
  (exchange: Exchange): Ask =>
  async (method, params, signal) => {
    demandCapability(exchange, method, params);
    if (!exchange.ask) throw new RpcError(-32601, `${method} is not possible on a request without a session`);
    return exchange.ask(method, params, signal);
  };

function demandCapability(exchange: Exchange, method: string, params: unknown): void {
  if (!canAsk(exchange.clientCapabilities, method, params))
    throw new RpcError(-32601, `the client cannot be asked for ${method}`);
}
