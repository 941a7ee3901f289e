import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import fc from '../../test/kit/fast-check.ts';
import { ExactAnswers } from './exact-answers.ts';

const long = '{"a":[12345678901234567890,{"b":-9007199254740993}],"c":"12345678901234567890","d":0.5,"é":"☃"}';

/** What comes of an answer that arrives in these pieces, as the SDK reads it. */
function answering(pieces: Uint8Array[], type: string): { exact: ExactAnswers; answer: Promise<Response> } {
  const exact = new ExactAnswers();
  const body = ReadableStream.from(
    (async function* () {
      for (const piece of pieces) {
        await turn();
        yield piece;
      }
    })(),
  ) as ReadableStream<Uint8Array<ArrayBuffer>>;
  const answer = exact.fetch(async () => new Response(body, { headers: { 'content-type': type } }))('http://any');
  return { exact, answer };
}

/** The data of the events of a stream, in order. */
const eventsIn = (text: string): string[] =>
  text
    .split(/\r\n\r\n|\n\n|\r\r/)
    .map((event) =>
      event
        .split(/\r\n|\r|\n/)
        .flatMap((line) => (line.startsWith('data:') ? [line.slice(5).trimStart()] : []))
        .join('\n'),
    )
    .filter((data) => data !== '');

test('a JSON body is read with its integers as they are written, and without them as ever', async () => {
  const { exact, answer } = answering([Buffer.from(long)], 'application/json; charset=utf-8');
  assert.equal(JSON.stringify(exact.restore(await (await answer).json())), long);
  const plain = answering([Buffer.from('{"a":1}')], 'application/json');
  assert.deepEqual(plain.exact.restore(await (await plain.answer).json()), { a: 1 });
  await assert.rejects(
    async () => (await answering([Buffer.from('{')], 'application/json').answer).json(),
    SyntaxError,
  );
});

test('so are the events of a stream, wherever it is cut and however its lines end', async () => {
  const end = fc.constantFrom('\n', '\r\n', '\r');
  const data = fc.constantFrom(long, '{"x":1}', 'no JSON 12345678901234567890', '"☃"');
  const event = fc.record({ before: fc.constantFrom('', ': hello', 'id: 7', 'event: message'), data });
  await fc.assert(
    fc.asyncProperty(
      end,
      fc.array(event, { maxLength: 5 }),
      fc.integer({ min: 1, max: 60 }),
      async (eol, events, size) => {
        const text = events
          .map((each) => `${each.before === '' ? '' : each.before + eol}data: ${each.data}${eol}${eol}`)
          .join('');
        const bytes = Buffer.from(text);
        const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
          bytes.subarray(i * size, (i + 1) * size),
        );
        const { exact, answer } = answering(pieces, 'text/event-stream');
        const read = eventsIn(await new Response((await answer).body).text()).map((each) =>
          each.startsWith('no') ? each : JSON.stringify(exact.restore(JSON.parse(each))),
        );
        assert.deepEqual(
          read,
          events.map((each) => each.data),
        );
      },
    ),
    { numRuns: 60 },
  );
});

test('an event is handed on as soon as it is complete, the beginning of the next one is not', async () => {
  const { answer } = answering(
    [Buffer.from('data: 1\n\ndata: 2'), Buffer.from('\n'), Buffer.from('\n')],
    'text/event-stream',
  );
  const seen: string[] = [];
  for await (const piece of (await answer).body!) seen.push(Buffer.from(piece).toString());
  assert.deepEqual(seen, ['data: 1\n\n', 'data: 2\n\n']);
});

test('data of several lines is one JSON text, and other fields stay', async () => {
  const { exact, answer } = answering(
    [Buffer.from('id: 5\ndata: {"a":\ndata:12345678901234567890}\nretry: 9\n\n')],
    'text/event-stream',
  );
  const text = await new Response((await answer).body).text();
  assert.match(text, /^id: 5$/m);
  assert.match(text, /^retry: 9$/m);
  assert.equal(JSON.stringify(exact.restore(JSON.parse(eventsIn(text)[0]!))), '{"a":12345678901234567890}');
});

test('who stops reading stops the other side, and what breaks it is told', async () => {
  let cancelled: unknown;
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({ cancel: (reason) => void (cancelled = reason) });
  const type = { headers: { 'content-type': 'text/event-stream' } };
  const fetch = new ExactAnswers().fetch(async () => new Response(body, type));
  await (await fetch('http://any')).body!.cancel('enough');
  assert.equal(cancelled, 'enough');
  const broken = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull() {
      throw new Error('cut');
    },
  });
  const other = await new ExactAnswers().fetch(async () => new Response(broken, type))('http://any');
  await assert.rejects(other.body!.getReader().read(), /cut/);
});
