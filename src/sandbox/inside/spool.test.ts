import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import fc from '../../../test/kit/fast-check.ts';
import { spoolReader } from '../spool-reader.ts';
import { lineSplitter } from './line-splitter.ts';
import { spoolWriter } from './spool-writer.ts';

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'oub-spool-'));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

test('lines come out whole however the bytes were cut, and too long ones are counted', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ maxLength: 30 }).map((text) => text.replaceAll('\n', ' '))),
      fc.array(fc.nat(40)),
      (lines, cuts) => {
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
        const seen: string[] = [];
        let lost = 0;
        const splitter = lineSplitter(
          20,
          (line) => seen.push(line.toString()),
          () => lost++,
        );
        let at = 0;
        for (const cut of cuts) splitter.push(bytes.subarray(at, (at = Math.min(at + cut, bytes.length))));
        splitter.push(bytes.subarray(at));
        splitter.end();
        const fits = lines.filter((line) => Buffer.byteLength(line) <= 20);
        assert.deepEqual(seen, fits);
        assert.equal(lost, lines.length - fits.length);
      },
    ),
  );
});

test('what is written is read back, over any segments, restarts of the writer, acknowledgements and cuts of the reader', async (t) => {
  const action = fc.oneof(
    { weight: 6, arbitrary: fc.string({ maxLength: 60 }).map((text) => ({ write: text.replaceAll('\n', ' ') })) },
    { weight: 2, arbitrary: fc.constant({ flush: true }) },
    { weight: 2, arbitrary: fc.constant({ read: true }) },
    { weight: 1, arbitrary: fc.constant({ reopenReader: true }) },
    { weight: 1, arbitrary: fc.constant({ reopenWriter: true }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(action, { maxLength: 60 }), async (actions) => {
      const path = folder(t);
      const limits = { segmentBytes: 100, fullBytes: 1000 };
      let writer = spoolWriter(path, limits);
      let reader = spoolReader(path, 0);
      const written: string[] = [];
      const read: string[] = [];
      const drain = async (): Promise<void> => {
        for (let batch = await reader.read(); batch.length > 0; batch = await reader.read())
          for (const record of batch) {
            assert.equal(record.kind, 'out');
            read.push((record as { line: string }).line);
          }
        writer.ack(reader.offset);
      };
      for (const each of actions) {
        if ('write' in each) {
          writer.append('o', each.write);
          written.push(each.write);
        } else if ('read' in each) await drain();
        else writer.flush();
        if ('reopenWriter' in each) writer = spoolWriter(path, limits);
        if ('reopenReader' in each) {
          const { offset } = reader;
          await reader.close();
          reader = spoolReader(path, offset);
        }
      }
      writer.flush();
      await drain();
      await reader.close();
      assert.deepEqual(read, written);
      assert.equal(reader.offset, writer.end);
    }),
    { numRuns: 60 },
  );
});

test('a record whose parts cannot be made texts or numbers is read past like any other', async (t) => {
  const path = folder(t);
  const writer = spoolWriter(path);
  const odd = '{"toString":1,"valueOf":2}';
  writer.append('x', `{"stream":${odd},"bytes":${odd}}`);
  writer.append('s', `{"state":"started","pid":${odd}}`);
  writer.append('s', `{"state":"failed","reason":${odd}}`);
  writer.append('o', 'after');
  writer.flush();
  const reader = spoolReader(path, 0);
  const records = await reader.read();
  await reader.close();
  assert.deepEqual(
    records.map(({ offset: _offset, next: _next, ...record }) => record),
    [
      { kind: 'lost', stream: '', bytes: 0 },
      { kind: 'state', state: { state: 'started', pid: 0 } },
      { kind: 'state', state: { state: 'failed', reason: '' } },
      { kind: 'out', line: 'after' },
    ],
  );
});

test('is full until enough was acknowledged, and forgets what was', (t) => {
  const path = folder(t);
  const writer = spoolWriter(path, { segmentBytes: 100, fullBytes: 500 });
  for (let i = 0; i < 10; i++) {
    writer.append('o', 'x'.repeat(58));
    writer.flush();
  }
  assert.equal(writer.isFull, true);
  assert.ok(readdirSync(path).length > 3);
  writer.ack(400);
  assert.equal(writer.isFull, false);
  writer.ack(10 ** 9);
  assert.equal(readdirSync(path).length, 1);
});
