import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../../../test/kit/fast-check.ts';
import { framesOf, type Frame } from './frames.ts';

const stream = (chunks: Uint8Array[]) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });

test('frames are the same however the bytes are cut', async () => {
  const frames: Frame[] = [
    { event: 'hello', data: '{"a":1}' },
    { event: 'message', id: '0', data: 'zwei Zeilen\nmit Ü und 🧪' },
    { event: 'ping', data: '{}' },
  ];
  const text = frames
    .map(
      (frame) =>
        `${frame.id === undefined ? '' : `id: ${frame.id}\n`}event: ${frame.event}\n${frame.data
          .split('\n')
          .map((line) => `data: ${line}`)
          .join('\n')}\n\n`,
    )
    .join(': comment\n\n');
  const bytes = new TextEncoder().encode(text);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 12 }), async (cuts) => {
      const places = [0, ...cuts.sort((a, b) => a - b), bytes.length];
      const read: Frame[] = [];
      for await (const frame of framesOf(stream(places.slice(1).map((end, index) => bytes.slice(places[index], end)))))
        read.push(frame);
      assert.deepEqual(read, frames);
    }),
  );
});
