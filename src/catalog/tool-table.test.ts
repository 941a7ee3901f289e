import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../../test/kit/fast-check.ts';
import { newUuid } from '../schema/index.ts';
import { toolPath } from './stored-files.ts';
import { StoredRecords, type Change } from './stored-records.ts';
import { compareSummaries, type ToolSummary } from './tool-summary.ts';

const bundles = [newUuid(), newUuid(), newUuid()];
const slugs = ['a', 'list-users', 'größe', 'x'.repeat(64), '日本'];
const times = ['2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z'];

const aTool: fc.Arbitrary<ToolSummary> = fc
  .record({
    bundleID: fc.constantFrom(...bundles),
    slug: fc.constantFrom(...slugs),
    version: fc.constantFrom('v1', 'v2', '10'),
    id: fc.oneof(fc.uuid(), fc.constantFrom('copied', 'a "quoted" id\n')),
    name: fc.constantFrom('one', 'two', 'zwölf', ''),
    isEnabled: fc.boolean(),
    tags: fc.array(fc.string({ unit: 'grapheme', maxLength: 5 }), { maxLength: 3 }),
    createdAt: fc.constantFrom(...times),
    modifiedAt: fc.constantFrom(...times),
    mtimeMs: fc.double({ min: 1, max: 2e12, noNaN: true }),
    size: fc.nat(),
  })
  .map(({ mtimeMs, size, tags, ...rest }) => ({
    ...rest,
    type: 'http' as const,
    ...(tags.length > 0 && { tags }),
    file: { path: toolPath(rest.bundleID, rest.slug, rest.version), mtimeMs, size },
  }));

const aStep = fc.oneof(
  { weight: 3, arbitrary: aTool.map((tool) => ({ put: tool })) },
  { weight: 1, arbitrary: aTool.map((tool) => ({ forget: tool.file!.path })) },
);

test('after any changes the table answers as plain maps would', () => {
  fc.assert(
    fc.property(fc.array(aTool, { maxLength: 20 }), fc.array(aStep, { maxLength: 80 }), (loaded, steps) => {
      const records = new StoredRecords();
      const model = new Map<string, ToolSummary>();
      for (const tool of loaded) {
        records.takeSummary(tool, true);
        model.set(tool.file!.path, tool);
      }
      records.settle();
      for (const step of steps)
        if ('put' in step) {
          records.takeSummary(step.put);
          model.set(step.put.file!.path, step.put);
        } else {
          const gone: Change | undefined = records.forget(step.forget);
          const expected = model.get(step.forget);
          assert.deepEqual(gone, expected && { kind: 'tool-gone', summary: expected });
          model.delete(step.forget);
        }
      agree(records, [...model.values()]);
      const again = new StoredRecords();
      again.restore(structuredClone(records.save()));
      agree(again, [...model.values()]);
      for (const tool of loaded) {
        again.takeSummary(tool);
        model.set(tool.file!.path, tool);
      }
      agree(again, [...model.values()]);
    }),
    { numRuns: 300 },
  );
});

test('a tool that is switched a hundred thousand times takes no more room than before', () => {
  const records = new StoredRecords();
  const tool = fc.sample(aTool, 1)[0]!;
  records.takeSummary(tool);
  const before = process.memoryUsage().arrayBuffers;
  for (let i = 0; i < 100_000; i++) records.takeSummary({ ...tool, isEnabled: i % 2 === 0 });
  assert.ok(process.memoryUsage().arrayBuffers - before < 4 * 1024 * 1024);
  assert.equal(records.toolCount, 1);
  assert.equal(records.byId(tool.id)?.isEnabled, false);
});

test('bundles that come and go take no room, also in what is saved', () => {
  const records = new StoredRecords();
  const tool = fc.sample(aTool, 1)[0]!;
  records.takeSummary(tool);
  const other = (): ToolSummary => {
    const bundleID = newUuid();
    const path = toolPath(bundleID, 'a', 'v1');
    return { ...tool, slug: 'a', version: 'v1', id: newUuid(), bundleID, file: { ...tool.file!, path } };
  };
  for (let i = 0; i < 1000; i++) {
    const passing = other();
    records.takeSummary(passing);
    records.forget(passing.file!.path);
  }
  assert.ok(records.save().head.tools.bundleIds.length <= 2);
  const last = other();
  records.takeSummary(last);
  assert.deepEqual(records.ofBundle(last.bundleID), [last]);
  assert.deepEqual(records.byKey(tool.bundleID, tool.slug, tool.version), tool);
});

test('each take of a file is told from the one before, even when the file looks the same', () => {
  const records = new StoredRecords();
  const tool = fc.sample(aTool, 1)[0]!;
  const { path } = tool.file!;
  records.takeSummary(tool);
  const first = records.stampOf(path);
  assert.deepEqual(records.stampOf(path), first);
  records.takeSummary(tool);
  assert.notDeepEqual(records.stampOf(path), first);
});

test('tools stand in order however many come between two looks, and whatever leaves meanwhile', () => {
  const steps = fc.array(fc.oneof(fc.integer({ min: 1, max: 700 }), fc.constantFrom('look', 'leave')), {
    maxLength: 8,
  });
  fc.assert(
    fc.property(steps, fc.infiniteStream(fc.nat(50)), (order, names) => {
      const records = new StoredRecords();
      const expected: ToolSummary[] = [];
      for (const step of order) {
        if (step === 'look') assert.deepEqual([...records.ordered.after()], expected.toSorted(compareSummaries));
        else if (step === 'leave' && expected.length > 0) records.forget(expected.pop()!.file!.path);
        for (let left = Number(step) || 0; left > 0; left--) {
          const about = {
            id: newUuid(),
            slug: `s${expected.length}`,
            version: 'v1',
            bundleID: bundles[0]!,
            type: 'http' as const,
            isEnabled: true,
          };
          const file = { path: toolPath(about.bundleID, about.slug, about.version), mtimeMs: 1, size: 1 };
          const tool: ToolSummary = {
            ...about,
            name: `n${names.next().value}`,
            createdAt: times[0]!,
            modifiedAt: times[0]!,
            file,
          };
          records.takeSummary(tool);
          expected.push(tool);
        }
        assert.equal(records.ordered.size, expected.length);
      }
      assert.deepEqual([...records.ordered.after()], expected.toSorted(compareSummaries));
    }),
    { numRuns: 40 },
  );
});

test('whoever lists slowly meets each tool that stays once, whatever comes, goes and is switched meanwhile', () => {
  const named = (name: string, isEnabled = true): ToolSummary => ({
    id: `id ${name}`,
    slug: name,
    version: 'v1',
    bundleID: bundles[0]!,
    name,
    type: 'http',
    isEnabled,
    createdAt: times[0]!,
    modifiedAt: times[0]!,
    file: { path: toolPath(bundles[0]!, name, 'v1'), mtimeMs: 1, size: 1 },
  });
  const aName = fc.integer({ min: 10, max: 40 }).map(String);
  const aChange = fc.record({ name: aName, how: fc.constantFrom('come', 'go', 'switch') });
  fc.assert(
    fc.property(fc.uniqueArray(aName, { minLength: 1 }), fc.array(fc.array(aChange)), (there, changes) => {
      const records = new StoredRecords();
      for (const name of there) records.takeSummary(named(name));
      const stays = new Set(there);
      const met: string[] = [];
      for (const { name } of records.ordered.after()) {
        met.push(name);
        for (const change of changes[met.length - 1] ?? []) {
          const isThere = records.byName(change.name).length > 0;
          if (change.how === 'go' && records.forget(named(change.name).file!.path)) stays.delete(change.name);
          if (change.how === 'come' && !isThere) records.takeSummary(named(change.name));
          if (change.how === 'switch' && isThere) records.takeSummary(named(change.name, false));
        }
      }
      assert.deepEqual([...new Set(met)].sort(), met, 'in order, none twice');
      for (const name of stays) assert.ok(met.includes(name), `${name} was missed`);
    }),
  );
});

function agree(records: StoredRecords, expected: ToolSummary[]): void {
  const sorted = expected.toSorted(compareSummaries);
  const listed = [...records.ordered.after()];
  assert.deepEqual(keysOf(listed), keysOf(sorted));
  assert.deepEqual(byPath(listed), byPath(expected));
  assert.equal(records.toolCount, expected.length);
  for (const [at, tool] of sorted.entries()) {
    const { bundleID, slug, version, name, id, file } = tool;
    assert.deepEqual(records.byKey(bundleID, slug, version), tool);
    assert.equal(records.byId(id)?.id, id);
    assert.ok(records.byName(name).some((each) => each.file!.path === file!.path));
    assert.ok(records.byName(name).every((each) => each.name === name));
    assert.ok(
      expected.some(
        (each) => each.bundleID === bundleID && each.slug === slug && each.name === records.nameOf(bundleID, slug),
      ),
    );
    const { mtimeMs, size } = records.stampOf(file!.path)!;
    assert.deepEqual({ mtimeMs, size }, { mtimeMs: file!.mtimeMs, size: file!.size });
    const rest = sorted.slice(at).filter((each) => compareSummaries(each, tool) > 0);
    // Those of the same key stand in no order among themselves.
    const after = [...records.ordered.after(tool)].filter((each) => compareSummaries(each, tool) > 0);
    assert.deepEqual(keysOf(after), keysOf(rest));
  }
  for (const bundleID of bundles) {
    const inside = expected.filter((each) => each.bundleID === bundleID);
    assert.deepEqual(byPath(records.ofBundle(bundleID)), byPath(inside));
    assert.equal(records.countOf(bundleID), inside.length);
    assert.deepEqual(records.pathsOf(bundleID).sort(), inside.map((each) => each.file!.path).sort());
  }
  assert.deepEqual(records.bundleFolders(), new Set(expected.map((each) => each.bundleID)));
  assert.equal(records.byId('none'), undefined);
  assert.deepEqual(records.byName('none'), []);
  assert.equal(records.stampOf(`${bundles[0]}/tool-a.v1.json`), undefined);
}

const byPath = (tools: ToolSummary[]): ToolSummary[] =>
  tools.toSorted((a, b) => (a.file!.path < b.file!.path ? -1 : 1));
const keysOf = (tools: ToolSummary[]): string[] => tools.map(({ name, createdAt, id }) => `${name} ${createdAt} ${id}`);
