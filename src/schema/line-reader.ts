import { parseRpc } from './json.ts';

/** Cuts a byte stream into lines without ever holding more than one line; longer ones are dropped and reported. */
export class LineReader {
  readonly #maxBytes: number;
  readonly #onLine: (line: string) => void;
  readonly #onTooLong: () => void;
  #parts: Buffer[] = [];
  #size = 0;
  #isDropping = false;

  constructor(maxBytes: number, onLine: (line: string) => void, onTooLong: () => void) {
    this.#maxBytes = maxBytes;
    this.#onLine = onLine;
    this.#onTooLong = onTooLong;
  }

  push(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, from)) {
      this.#take(chunk.subarray(from, at));
      this.#finish();
      from = at + 1;
    }
    this.#take(chunk.subarray(from));
  }

  #take(part: Buffer): void {
    if (this.#isDropping || part.length === 0) return;
    this.#size += part.length;
    this.#parts.push(part);
    if (this.#size <= this.#maxBytes) return;
    this.#isDropping = true;
    this.#parts = [];
    this.#onTooLong();
  }

  #finish(): void {
    const line = this.#isDropping ? '' : Buffer.concat(this.#parts, this.#size).toString('utf8').trim();
    this.#parts = [];
    this.#size = 0;
    this.#isDropping = false;
    if (line !== '') this.#onLine(line);
  }
}

const noMessage =
  'Invalid Request: this is no JSON-RPC message. Its id, and a progress token, is a text or an integer below 2^53.';

/** What we use of a transport of the MCP SDK that reads lines. */
interface RpcReader {
  _ondata: (chunk: Buffer) => void;
  onerror?: (error: Error) => void;
  send(message: { jsonrpc: '2.0'; id: never; error: { code: number; message: string } }): Promise<void>;
  close(): Promise<void>;
}

/**
 * Has a transport hand on long integers as they are written: its own way of reading would round them. A request that
 * `onMessage` throws at is refused, as whoever asked would wait for ever.
 */
export function readExactly(reader: RpcReader, maxBytes: number, onMessage: (message: unknown) => void): void {
  const take = (line: string): void => {
    let message: unknown;
    try {
      message = parseRpc(line);
      onMessage(message);
    } catch (error) {
      // What is no JSON is not meant for us: programs print what they like.
      if (error instanceof SyntaxError) return;
      reader.onerror?.(error as Error);
      const { id, method } = Object(message) as { id?: never; method?: unknown };
      if (id === undefined || method === undefined) return;
      void reader.send({ jsonrpc: '2.0', id, error: { code: -32600, message: noMessage } }).catch(() => {});
    }
  };
  const lines = new LineReader(maxBytes, take, () => {
    reader.onerror?.(new Error(`a line may have ${maxBytes} bytes at most`));
    void reader.close();
  });
  reader._ondata = (chunk) => lines.push(chunk);
}
