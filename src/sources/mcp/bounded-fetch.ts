import { fail } from '../../schema/index.ts';

/** As much as a process may write in one line. */
const longestAnswer = 64 * 1024 * 1024;
/** Of a refusal only the beginning is told. */
const longestRefusal = 64 * 1024;

type Fetch = typeof globalThis.fetch;

/** A `fetch` whose answers, however they are packed, do not fill the memory: each as a whole, or each event of a stream. */
export function boundedFetch(fetch: Fetch, limit = longestAnswer): Fetch {
  return async (input, init) => {
    const answer = await fetch(input, init);
    const { body, headers } = answer;
    if (!body || isSmall(headers)) return answer;
    const tooLarge = (): Error => fail('response.too_large', { tool: hostOf(input), limit });
    const pieces = answer.ok ? checked(body, isEventStream(headers), limit, tooLarge) : beginning(body);
    return new Response(ReadableStream.from(pieces) as ReadableStream<Uint8Array<ArrayBuffer>>, {
      status: answer.status,
      statusText: answer.statusText,
      headers,
    });
  };
}

const isEventStream = (headers: Headers): boolean =>
  (headers.get('content-type') ?? '').trimStart().toLowerCase().startsWith('text/event-stream');

/** Says so itself, and is not packed. */
function isSmall(headers: Headers): boolean {
  const length = headers.get('content-length');
  return length !== null && Number(length) <= longestRefusal && !headers.has('content-encoding');
}

const hostOf = (input: Parameters<Fetch>[0]): string => new URL(input instanceof Request ? input.url : input).host;

async function* checked(
  body: AsyncIterable<Uint8Array>,
  isStream: boolean,
  limit: number,
  tooLarge: () => Error,
): AsyncGenerator<Uint8Array> {
  let length = 0;
  let lastBytes: Buffer = Buffer.alloc(0);
  for await (const piece of body) {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    const ended = isStream ? eventEnd(lastBytes, bytes) : -1;
    length = ended < 0 ? length + bytes.length : bytes.length - ended;
    if (length > limit) throw tooLarge();
    lastBytes = bytes.subarray(-3);
    yield piece;
  }
}

/** Where the last event that ends in these bytes does so: an empty line ends it, maybe one that began before them. */
function eventEnd(before: Buffer, bytes: Buffer): number {
  const inside = Math.max(...['\n\n', '\r\r', '\n\r\n'].map((gap) => bytes.lastIndexOf(gap)));
  if (inside >= 0) return inside;
  return /\n\n|\r\r|\n\r\n/.test(Buffer.concat([before, bytes.subarray(0, 2)]).toString('latin1')) ? 0 : -1;
}

async function* beginning(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let left = longestRefusal;
  for await (const piece of body) {
    yield piece.subarray(0, left);
    left -= piece.byteLength;
    if (left <= 0) return;
  }
}
