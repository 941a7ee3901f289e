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

/** What we use of a transport of the MCP SDK that reads lines. */
interface RpcReader {
  _ondata: (chunk: Buffer) => void;
  onerror?: (error: Error) => void;
  close(): Promise<void>;
}

/** Has a transport hand on the arguments of calls as they are written: its own way of reading would round long integers. */
export function readExactly(reader: RpcReader, maxBytes: number, onMessage: (message: unknown) => void): void {
  const take = (line: string): void => {
    try {
      onMessage(parseRpc(line));
    } catch (error) {
      // What is no JSON is not meant for us: programs print what they like.
      if (!(error instanceof SyntaxError)) reader.onerror?.(error as Error);
    }
  };
  const lines = new LineReader(maxBytes, take, () => {
    reader.onerror?.(new Error(`a line may have ${maxBytes} bytes at most`));
    void reader.close();
  });
  reader._ondata = (chunk) => lines.push(chunk);
}
