import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../../test/kit/fast-check.ts';
import { encodeFrame, FrameReader } from './frames.ts';

test('frames come out as they went in, wherever they were cut on the way', () => {
  const frame = fc.record({ head: fc.jsonValue({ maxDepth: 2 }), tail: fc.uint8Array({ maxLength: 40 }) });
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 6 }), fc.array(fc.integer({ min: 1, max: 60 })), (frames, cuts) => {
      const bytes = Buffer.concat(frames.map(({ head, tail }) => encodeFrame(head, Buffer.from(tail))));
      const reader = new FrameReader<unknown>();
      const shared = Buffer.alloc(bytes.length);
      const out: { head: unknown; tail: number[] }[] = [];
      for (let at = 0, i = 0; at < bytes.length; i++) {
        const length = Math.min(cuts[i] ?? bytes.length, bytes.length - at);
        // One buffer for all, as the child has it: what was kept of an earlier piece must not change with the next.
        bytes.copy(shared, 0, at, at + length);
        for (const { head, tail } of reader.push(shared.subarray(0, length))) out.push({ head, tail: [...tail] });
        at += length;
      }
      assert.deepEqual(
        out,
        frames.map(({ head, tail }) => ({ head: JSON.parse(JSON.stringify(head)) as unknown, tail: [...tail] })),
      );
    }),
  );
});
