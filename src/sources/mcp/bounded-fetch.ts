import { setTimeout as sleep } from 'node:timers/promises';
import { fail } from '../../schema/index.ts';

/** As much as a process may write in one line. */
const longestAnswer = 64 * 1024 * 1024;
/** Of a refusal only the beginning is told. */
const longestRefusal = 64 * 1024;
/** More than this in a second and a stream is read only now and then, so that it leaves time for everything else. */
const eventsPerSecond = 2_000;
/** Answers that we wait for are not counted there, up to so many at a time. */
const mostOwed = 1_000;

type Fetch = typeof globalThis.fetch;

/**
 * A `fetch` whose answers, however they are packed, do not fill the memory: each as a whole, or each event of a stream.
 * With `hasOneStream`, whatever is posted is answered by an event of a stream.
 */
export function boundedFetch(fetch: Fetch, limit = longestAnswer, hasOneStream = false): Fetch {
  const owed = { events: 0 };
  return async (input, init) => {
    if (hasOneStream && init?.method === 'POST') owed.events = Math.min(owed.events + 1, mostOwed);
    const answer = await fetch(input, init);
    const { body, headers } = answer;
    if (!body || isSmall(headers)) return answer;
    const tooLarge = (): Error => fail('response.too_large', { tool: hostOf(input), limit });
    const pieces = answer.ok ? checked(body, isEventStream(headers), limit, tooLarge, owed) : beginning(body);
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
  owed: { events: number },
): AsyncGenerator<Uint8Array> {
  let length = 0;
  let lastBytes: Buffer = Buffer.alloc(0);
  let second = { endsAt: 0, events: 0 };
  for await (const piece of body) {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    const ended = isStream ? eventEnd(lastBytes, bytes) : -1;
    length = ended < 0 ? length + bytes.length : bytes.length - ended;
    if (length > limit) throw tooLarge();
    lastBytes = bytes.subarray(-3);
    yield piece;
    if (ended < 0) continue;
    const now = performance.now();
    if (now > second.endsAt) second = { endsAt: now + 1000, events: 0 };
    const events = eventsIn(bytes);
    const answers = Math.min(events, owed.events);
    owed.events -= answers;
    second.events += events - answers;
    if (second.events > eventsPerSecond) await sleep(second.endsAt - now, undefined, { ref: false });
  }
}

/** Each of these ends an event. */
const gaps = ['\n\n', '\r\r', '\n\r\n'];

/** Where the last event that ends in these bytes does so: an empty line ends it, maybe one that began before them. */
function eventEnd(before: Buffer, bytes: Buffer): number {
  const inside = Math.max(...gaps.map((gap) => bytes.lastIndexOf(gap)));
  if (inside >= 0) return inside;
  return /\n\n|\r\r|\n\r\n/.test(Buffer.concat([before, bytes.subarray(0, 2)]).toString('latin1')) ? 0 : -1;
}

function eventsIn(bytes: Buffer): number {
  let events = 0;
  for (const gap of gaps) for (let at = bytes.indexOf(gap); at >= 0; at = bytes.indexOf(gap, at + gap.length)) events++;
  return events;
}

async function* beginning(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let left = longestRefusal;
  for await (const piece of body) {
    yield piece.subarray(0, left);
    left -= piece.byteLength;
    if (left <= 0) return;
  }
}
