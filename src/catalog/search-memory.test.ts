import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from '../../test/kit/fast-check.ts';
import type { SearchDoc, SearchHit } from './search.ts';
import { SearchMemory } from './search-memory.ts';
import { scan } from './search-scan.ts';
import { allowedEdits, isWithin, wordsOf } from './search-words.ts';

let counter = 0;
function doc(fields: Partial<SearchDoc>): SearchDoc {
  const id = fields.id ?? `id${String(counter++).padStart(4, '0')}`;
  const made = {
    id,
    slug: 'x',
    displayName: 'X',
    tags: [],
    description: '',
    bundleSlug: 'b',
    modifiedAt: '2026-01-01T00:00:00.000Z',
    isEnabled: true,
    ...fields,
  };
  return { ...made, stamp: JSON.stringify(made) };
}

function filled(docs: SearchDoc[], settle = true): SearchMemory {
  const memory = new SearchMemory();
  for (const each of docs) memory.put(each);
  if (settle) memory.settle();
  return memory;
}

const shown = (hits: SearchHit[]): string[] => hits.map((hit) => `${hit.id} ${hit.tier} ${hit.field}`);

describe('tiers', () => {
  const docs = [
    doc({ id: 'a', slug: 'read-file', displayName: 'Read a file' }),
    doc({ id: 'b', slug: 'x1', displayName: 'Readable things' }),
    doc({ id: 'c', slug: 'x2', displayName: 'Y', description: 'You can read here.' }),
    doc({ id: 'd', slug: 'x3', displayName: 'Y', tags: ['read'] }),
    doc({ id: 'e', slug: 'spread', displayName: 'Y' }),
    doc({ id: 'f', slug: 'x4', displayName: 'Raed' }),
    doc({ id: 'g', slug: 'x5', displayName: 'Y', bundleSlug: 'read' }),
    doc({ id: 'h', slug: 'x6', displayName: 'Y', description: 'readable' }),
    doc({ id: 'i', slug: 'x7', displayName: 'Y', isEnabled: false, description: 'read' }),
  ];
  for (const memory of [filled(docs), filled(docs, false)])
    test(`prefix before word before fuzzy, with the field that matched (${memory.inBase} settled)`, () => {
      assert.deepEqual(shown(memory.query('READ')), [
        'a prefix slug',
        'b prefix displayName',
        'c word description',
        'd word tags',
        'g word bundleSlug',
        'e fuzzy slug',
        'f fuzzy displayName',
      ]);
    });

  test('a prefix counts in slug and display name alone', () => {
    assert.ok(
      !filled(docs)
        .query('read')
        .some((hit) => hit.id === 'h'),
    );
  });

  test('disabled ones appear only when asked for', () => {
    const memory = filled(docs);
    assert.ok(!memory.query('read').some((hit) => hit.id === 'i'));
    assert.ok(memory.query('read', { includeDisabled: true }).some((hit) => hit.id === 'i' && hit.tier === 'word'));
  });

  test('only the named bundles are looked in', () => {
    assert.deepEqual(shown(filled(docs).query('read', { bundles: ['read', 'gone'] })), ['g word bundleSlug']);
    assert.deepEqual(filled(docs).query('read', { bundles: [] }), []);
  });

  test('every token must match and the worst decides', () => {
    const memory = filled([
      doc({ id: 'a', slug: 'get-weather', description: 'forecast for a city' }),
      doc({ id: 'b', slug: 'get-time' }),
    ]);
    assert.deepEqual(shown(memory.query('get wether')), ['a fuzzy slug']);
    assert.deepEqual(shown(memory.query('get city')), ['a word description']);
    assert.deepEqual(shown(memory.query('get g')), ['a prefix slug', 'b prefix slug']);
    assert.deepEqual(memory.query('get nothing'), []);
    assert.deepEqual(memory.query('!?'), []);
  });

  test('a token that begins the first word of all is found inside the others too', () => {
    for (const settle of [true, false])
      assert.deepEqual(
        shown(filled([doc({ id: '1', slug: 'a' }), doc({ id: '2', slug: 'weather' })], settle).query('a')),
        ['1 prefix slug', '2 fuzzy slug'],
      );
  });

  test('relevance is the same before and after it is settled, for every word', () => {
    const docs = [
      doc({ id: '1', slug: 'alpha', description: 'counts beans' }),
      doc({ id: '2', slug: 'beta', description: 'counts peas' }),
      doc({ id: '3', slug: 'gamma', description: 'eats peas' }),
    ];
    const [settled, growing, mixed] = [filled(docs), filled(docs, false), filled(docs.slice(0, 1))];
    for (const each of docs.slice(1)) mixed.put(each);
    for (const word of ['alpha', 'beta', 'gamma', 'counts', 'beans', 'peas', 'eats', 'gamam']) {
      const ranked = settled.rank(word);
      assert.ok(ranked.length > 0, word);
      assert.deepEqual(growing.rank(word), ranked, word);
      assert.deepEqual(mixed.rank(word), ranked, word);
    }
  });

  test('newer first inside a tier, then by id', () => {
    const at = (day: number): string => `2026-01-0${day}T00:00:00.000Z`;
    const memory = filled([
      doc({ id: 'c', slug: 'same', modifiedAt: at(1) }),
      doc({ id: 'b', slug: 'same', modifiedAt: at(2) }),
      doc({ id: 'a', slug: 'same', modifiedAt: at(1) }),
    ]);
    memory.put(doc({ id: 'd', slug: 'same', modifiedAt: at(3) }));
    assert.deepEqual(
      memory.query('same').map((hit) => hit.id),
      ['d', 'b', 'a', 'c'],
    );
  });
});

describe('typos', () => {
  test('one edit from four letters, two from eight, a swap is one', () => {
    assert.deepEqual(['abc', 'abcd', 'abcdefg', 'abcdefgh'].map(allowedEdits), [0, 1, 1, 2]);
    assert.equal(allowedEdits('𝒜𝒜𝒜'), 0);
    assert.ok(isWithin('serach', 'search', 1));
    assert.ok(isWithin('weahter', 'weather', 1));
    assert.ok(isWithin('frirecrawl', 'firecrawl', 2));
    assert.ok(!isWithin('read', 'raod', 1));
    assert.ok(isWithin('𝒜bcd', 'bcd', 1));
  });

  test('the banded distance agrees with the full table', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'é', '𝒜'), maxLength: 12 });
    fc.assert(
      fc.property(letters, letters, fc.integer({ min: 0, max: 3 }), (a, b, limit) => {
        assert.equal(isWithin(a, b, limit), distance([...a], [...b]) <= limit);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('words', () => {
  test('are the same however they are composed and whatever their case', () => {
    assert.deepEqual(wordsOf('Caf\u00e9 DE_la-Paix 2'), ['café', 'de', 'la', 'paix', '2']);
    assert.deepEqual(wordsOf('Cafe\u0301'), ['café']);
    assert.deepEqual(wordsOf('天気 予報'), ['天気', '予報']);
    assert.deepEqual(wordsOf(''), []);
    assert.deepEqual(wordsOf(`a ${'x'.repeat(500)} b`), ['a', 'b']);
  });
});

describe('changes', () => {
  test('a document that is put again replaces the old one, one that is removed is gone', () => {
    const memory = filled([doc({ id: 'a', slug: 'alpha' })]);
    memory.put(doc({ id: 'a', slug: 'omega' }));
    assert.deepEqual(memory.query('alpha'), []);
    assert.deepEqual(shown(memory.query('omega')), ['a prefix slug']);
    assert.equal(memory.remove('a'), true);
    assert.equal(memory.remove('a'), false);
    assert.deepEqual(memory.query('omega'), []);
  });

  test('nothing is lost of what grows before it is settled', () => {
    // More than there is room for at first.
    const many = Array.from({ length: 1100 }, (_, i) => doc({ id: `m${i}`, slug: `w${i}`, description: 'common' }));
    const memory = filled(many, false);
    assert.equal(memory.query('common', { limit: 5000 }).length, many.length);
    for (const { id, slug } of many.slice(1000)) assert.equal(memory.query(slug)[0]?.id, id, slug);
  });

  test('switching one off costs no new words', () => {
    const memory = filled([doc({ id: 'a', slug: 'alpha' })]);
    memory.put(doc({ id: 'a', slug: 'alpha', isEnabled: false }));
    assert.equal(memory.growing.size, 0);
    assert.deepEqual(memory.query('alpha'), []);
    assert.equal(memory.query('alpha', { includeDisabled: true }).length, 1);
  });

  test('any history of changes answers as a scan of what is left does, page by page', () => {
    const word = fc.constantFrom(
      'read',
      'reader',
      'raed',
      'write',
      'weather',
      'whether',
      'file',
      'files',
      'get',
      'a',
      'ab',
      'été',
      '天気',
      'forecasts',
      'forcast',
      'x1',
    );
    const text = fc.array(word, { maxLength: 4 }).map((words) => words.join(' '));
    const aDoc = fc
      .record({
        id: fc.integer({ min: 0, max: 12 }).map((n) => `id${n}`),
        slug: fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => words.join('-')),
        displayName: text,
        tags: fc.array(word, { maxLength: 2 }),
        description: text,
        bundleSlug: fc.constantFrom('one', 'two', 'read'),
        modifiedAt: fc.integer({ min: 1, max: 4 }).map((day) => `2026-01-0${day}T00:00:00.000Z`),
        isEnabled: fc.boolean(),
      })
      .map((fields) => doc(fields));
    const step = fc.oneof(
      { weight: 8, arbitrary: aDoc.map((value) => ({ put: value })) },
      { weight: 2, arbitrary: fc.integer({ min: 0, max: 12 }).map((n) => ({ remove: `id${n}` })) },
      { weight: 1, arbitrary: fc.constant({ settle: true }) },
    );
    const query = fc.oneof(
      fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => words.join(' ')),
      fc.string({ maxLength: 6 }),
      fc.constantFrom('rea', 'ead', 'wether', 'forecsat'),
    );
    const options = fc.record(
      {
        includeDisabled: fc.boolean(),
        bundles: fc.subarray(['one', 'two', 'read']),
        limit: fc.integer({ min: 1, max: 5 }),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 40 }),
        fc.array(fc.tuple(query, options), { minLength: 1, maxLength: 5 }),
        (steps, asked) => {
          const memory = new SearchMemory();
          const left = new Map<string, SearchDoc>();
          for (const each of steps) {
            if ('settle' in each) memory.settle();
            else if ('put' in each) {
              memory.put(each.put);
              left.set(each.put.id, each.put);
            } else {
              memory.remove(each.remove);
              left.delete(each.remove);
            }
          }
          for (const [q, given] of asked) {
            let after: SearchHit | undefined;
            for (let page = 0; page < 4; page++) {
              const hits: SearchHit[] = memory.query(q, { ...given, ...(after && { after }) });
              assert.deepEqual(hits, scan(left.values(), q, { ...given, ...(after && { after }) }), q);
              after = hits.at(-1);
              if (!after) break;
            }
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});

/** Optimal string alignment by the book. */
function distance(a: string[], b: string[]): number {
  const table = Array.from({ length: a.length + 1 }, (_, i) =>
    Array.from({ length: b.length + 1 }, (_x, j) => (i === 0 || j === 0 ? i + j : 0)),
  );
  const at = (i: number, j: number): number => table[i]?.[j] ?? 0;
  for (let i = 1; i <= a.length; i++)
    for (let j = 1; j <= b.length; j++) {
      let cost = Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cost = Math.min(cost, at(i - 2, j - 2) + 1);
      (table[i] as number[])[j] = cost;
    }
  return at(a.length, b.length);
}
