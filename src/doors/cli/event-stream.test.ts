import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../../../test/kit/fast-check.ts';
import { frames, type Frame } from './event-stream.ts';

const wire = (sent: Frame[]) =>
  sent
    .map(({ id, event, data }) => {
      const lines = data.split('\n').map((line) => `data: ${line}\n`);
      return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\n${lines.join('')}\n`;
    })
    .join('');

async function* cut(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

test('frames come out as they went in, wherever the network cuts them', async () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 40 }).filter((each) => !/[\r\n]/.test(each));
  const frame = fc.record({
    id: fc.option(fc.nat().map(String), { nil: undefined }),
    event: fc.constantFrom('hello', 'message', 'ping'),
    data: text,
  });
  await fc.assert(
    fc.asyncProperty(fc.array(frame, { maxLength: 5 }), fc.integer({ min: 1, max: 20 }), async (sent, size) => {
      const got: Frame[] = [];
      for await (const each of frames(cut(wire(sent), size))) got.push(each);
      assert.deepEqual(
        got.map(({ id, event, data }) => ({ id, event, data })),
        sent.map(({ id, event, data }) => ({ id, event, data })),
      );
    }),
  );
});
