/** A server that said something so short a time ago is likely to say more. */
const quickMs = 1;
const longestHoldMs = 0.1;

export interface OutgoingMessage {
  id?: unknown;
  method?: string;
}

/**
 * Lines on their way to a process. Every write wakes it, and that costs more than a call: what comes in one turn of the
 * event loop shares a write, and while a quick server is at work so does what comes until it answers, or for a tenth of
 * a millisecond.
 */
export class Outbox {
  readonly #write: (text: string) => void;
  readonly #now: () => number;
  #text = '';
  /** When the first line that is not written came. */
  #since = 0;
  #answeredAt = -Infinity;
  /** How many requests are not answered, and how many of them not even written. */
  #open = 0;
  #fresh = 0;

  constructor(write: (text: string) => void, now: () => number = () => performance.now()) {
    this.#write = write;
    this.#now = now;
  }

  add(message: OutgoingMessage): void {
    if (this.#text === '') {
      this.#since = this.#now();
      setImmediate(this.#look);
    }
    this.#text += JSON.stringify(message) + '\n';
    const { id, method } = message;
    if (method === undefined) return;
    if (id !== undefined) {
      this.#open++;
      this.#fresh++;
    } else if (method === 'notifications/cancelled') this.#settle();
  }

  /** The server has answered one request. */
  answered(): void {
    this.#answeredAt = this.#now();
    this.#settle();
  }

  /** Writes what there is. */
  flush(): void {
    const text = this.#text;
    this.#text = '';
    this.#fresh = 0;
    if (text !== '') this.#write(text);
  }

  readonly #look = (): void => {
    if (this.#open > this.#fresh && this.#isAnswerNear()) setImmediate(this.#look);
    else this.flush();
  };

  #isAnswerNear(): boolean {
    const now = this.#now();
    if (this.#answeredAt >= this.#since) return false;
    return now - this.#answeredAt < quickMs && now - this.#since < longestHoldMs;
  }

  /** One less to be answered; a cancelled one may be, or may not. */
  #settle(): void {
    this.#open = Math.max(this.#fresh, this.#open - 1);
  }
}
