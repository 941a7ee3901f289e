import { randomUUID } from 'node:crypto';
import { exactInteger, mayHoldLongInteger, parseKeeping } from './json.ts';
import { rewrittenEvents } from './rewritten-events.ts';

type Fetch = typeof globalThis.fetch;

/**
 * Long integers in what a server answers over HTTP. The SDK reads JSON in its own way, which would round them: so they
 * are put into texts before it reads, and are integers again, as they were written, once it hands a message on.
 */
export class ExactAnswers {
  /** What such a text begins with; nobody else can know it. */
  readonly #mark = `${randomUUID()}:`;
  /** Most servers never send one: then there is nothing to look for. */
  #hasMarked = false;

  /** A `fetch` whose answers are marked. */
  fetch(fetch: Fetch): Fetch {
    return async (input, init) => {
      const answer = await fetch(input, init);
      const { body } = answer;
      if (!body || !answer.ok) return answer;
      const type = (answer.headers.get('content-type') ?? '').trimStart().toLowerCase();
      if (type.startsWith('text/event-stream'))
        return withOwn(answer, { body: rewrittenEvents(body, mayHoldLongInteger, this.#marked) });
      if (type.startsWith('application/json'))
        return withOwn(answer, { json: async () => JSON.parse(this.#marked(await answer.text())) as unknown });
      return answer;
    };
  }

  readonly #marked = (text: string): string => {
    if (!mayHoldLongInteger(text)) return text;
    let hasOne = false;
    try {
      const value = parseKeeping(text, (digits) => ((hasOne = true), this.#mark + digits));
      if (!hasOne) return text;
      this.#hasMarked = true;
      return JSON.stringify(value);
    } catch {
      // The SDK says what is wrong with it.
      return text;
    }
  };

  /** Puts the integers back into a message, in place. */
  restore<T>(message: T): T {
    if (!this.#hasMarked) return message;
    const open: unknown[] = [message];
    while (open.length > 0) {
      const holder = open.pop() as Record<string, unknown>;
      for (const key of Object.keys(holder)) {
        const value = holder[key];
        if (typeof value === 'object' && value !== null) open.push(value);
        else if (typeof value === 'string' && value.startsWith(this.#mark))
          holder[key] = exactInteger(BigInt(value.slice(this.#mark.length)));
      }
    }
    return message;
  }
}

/** The same answer, which is cheaper than another one around it. */
function withOwn(
  answer: Response,
  own: { body?: ReadableStream<Uint8Array>; json?: () => Promise<unknown> },
): Response {
  for (const [name, value] of Object.entries(own)) Object.defineProperty(answer, name, { value });
  return answer;
}
