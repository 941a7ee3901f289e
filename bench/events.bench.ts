import { connect, type Socket } from 'node:net';
import { startChild } from './child.ts';
import { interleave, type Row } from './measure.ts';

export const about =
  'append, deliver to 1 / 100 / 1,000 streams against a bare res.write fan-out, replay, and resume after cuts';

let count = 0;

export async function bench(): Promise<Row[]> {
  const { ready, stop } = await startChild<{ ours: string; bare: string }>('events-server.ts');
  const rows: Row[] = [];
  try {
    const append = async (n: number, session: string, batch = 50): Promise<number> =>
      (
        (await (
          await fetch(`${ready.ours}/append?session=${session}&n=${n}&batch=${batch}`, { method: 'POST' })
        ).json()) as { ms: number }
      ).ms;
    await append(5000, 'warm');
    // A session stores what it read from its agent in batches; a question or an answer is stored alone.
    const appended = await interleave(5, {
      one: async () => 20_000 / ((await append(20_000, `append-${count++}`, 1)) / 1000),
      batch: async () => 20_000 / ((await append(20_000, `append-${count++}`)) / 1000),
    });
    rows.push({
      what: 'append, one by one',
      unit: 'events/s',
      ours: appended.one,
      goal: { of: 'value', atLeast: 10_000 },
    });
    rows.push({
      what: 'append, in batches of 50',
      unit: 'events/s',
      ours: appended.batch,
      goal: { of: 'value', atLeast: 10_000 },
    });

    for (const [streams, n] of [
      [1, 20_000],
      [100, 4000],
      [1000, 1000],
    ] as const) {
      const taken = await interleave(5, {
        ours: async () => {
          const session = `fan-${count++}`;
          return deliver(ready.ours, `/sessions/${session}/events`, streams, n, () => append(n, session));
        },
        other: () => deliver(ready.bare, '/events', streams, n, () => fetch(`${ready.bare}/run?n=${n}`)),
      });
      // With one stream most of the time is that of storing, which the bare side does not do; the row below has both.
      rows.push({
        what: `deliver to ${streams} streams`,
        unit: 'ms',
        ...taken,
        otherName: 'bare res.write',
        goal: { of: 'ratio', atMost: 2 },
      });
    }
    const stored = await interleave(5, {
      ours: async () => {
        const session = `fan-${count++}`;
        return deliver(ready.ours, `/sessions/${session}/events`, 1, 20_000, () => append(20_000, session));
      },
      other: () => deliver(ready.bare, '/events', 1, 20_000, () => fetch(`${ready.bare}/run?n=20000&stored`)),
    });
    rows.push({ what: 'store and deliver to 1 stream', unit: 'ms', ...stored, otherName: 'bare insert and res.write' });

    await append(100_000, 'replay');
    const replay = await interleave(5, {
      ours: async () =>
        100_000 / ((await deliver(ready.ours, '/sessions/replay/events', 1, 100_000, async () => {})) / 1000),
    });
    rows.push({ what: 'replay', unit: 'events/s', ...replay, goal: { of: 'value', atLeast: 100_000 } });
    rows.push({
      what: 'lost or doubled after 50 cuts',
      unit: 'events',
      ours: [await cutAndResume(ready.ours, append)],
      goal: { of: 'value', atMost: 0 },
    });
    return rows;
  } finally {
    await stop();
  }
}

/** Milliseconds until every stream has had every event exactly once. */
async function deliver(
  url: string,
  path: string,
  streams: number,
  n: number,
  run: () => Promise<unknown>,
): Promise<number> {
  const readers = await Promise.all(Array.from({ length: streams }, () => Reader.open(url, path)));
  const startedAt = performance.now();
  await Promise.all([run(), ...readers.map((reader) => reader.until(n))]);
  const ms = performance.now() - startedAt;
  for (const reader of readers) {
    reader.close();
    if (reader.count !== n || reader.last !== n - 1)
      throw new Error(`a stream had ${reader.count} of ${n} events, the last was ${reader.last}`);
  }
  return ms;
}

async function cutAndResume(url: string, append: (n: number, session: string) => Promise<number>): Promise<number> {
  const n = 20_000;
  const writing = append(n, 'cuts');
  const seen = new Uint8Array(n);
  let last = -1;
  for (let cut = 0; last < n - 1; cut++) {
    const reader = await Reader.open(url, `/sessions/cuts/events?after=${last}`, (id) => seen[id]!++);
    await reader.until(cut < 50 ? 200 : n - 1 - last);
    reader.close();
    last = reader.last;
  }
  await writing;
  return seen.reduce((wrong, times) => wrong + (times === 1 ? 0 : 1), 0);
}

/** Counts frames without parsing their data. */
class Reader {
  count = 0;
  last = -1;
  readonly #socket: Socket;
  readonly #onId: ((id: number) => void) | undefined;
  #rest = '';
  #wanted = Infinity;
  #done: () => void = () => {};

  static open(url: string, path: string, onId?: (id: number) => void): Promise<Reader> {
    const { hostname, port, host } = new URL(url);
    const socket = connect(Number(port), hostname);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAccept: text/event-stream\r\n\r\n`);
    return new Promise((resolve, reject) => {
      const reader = new Reader(socket, () => resolve(reader), onId);
      socket.once('error', reject);
    });
  }

  constructor(socket: Socket, onHello: () => void, onId?: (id: number) => void) {
    this.#socket = socket;
    this.#onId = onId;
    let isGreeted = false;
    socket.on('data', (chunk: Buffer) => {
      this.#take(chunk.toString('latin1'));
      if (isGreeted) return;
      isGreeted = true;
      onHello();
    });
  }

  until(count: number): Promise<void> {
    this.#wanted = count;
    return new Promise((resolve) => {
      this.#done = resolve;
      if (this.count >= count) resolve();
    });
  }

  #take(text: string): void {
    const all = this.#rest + text;
    let at = all.indexOf('\nid: ');
    let end = 0;
    while (at >= 0 && this.count < this.#wanted) {
      const close = all.indexOf('\n', at + 5);
      if (close < 0) break;
      this.count++;
      this.last = Number(all.slice(at + 5, close));
      this.#onId?.(this.last);
      end = close;
      at = all.indexOf('\nid: ', close);
    }
    this.#rest = all.slice(Math.max(end, all.length - 4096));
    if (this.count >= this.#wanted) this.#done();
  }

  close(): void {
    this.#socket.destroy();
  }
}
