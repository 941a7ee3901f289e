import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import fc from '../../../test/kit/fast-check.ts';
import type { BuiltInBundle, Failure } from '../../schema/index.ts';
import { evaluate } from './arithmetic.ts';
import { called } from './fixtures/called.ts';
import { calcTools, clockTools, Compute, dataTools, demoTools, fsTools, textTools } from './index.ts';

const compute = new Compute();
after(() => compute.close());

const bundles: Record<string, BuiltInBundle> = {
  text: textTools(compute),
  data: dataTools(compute),
  clock: clockTools(),
  calc: calcTools(),
  demo: demoTools(),
  fs: fsTools(async () => undefined),
};

const { call, refused } = called(bundles);

test('every tool has a description, a level, what it returns, an example, and describes each argument', () => {
  for (const bundle of Object.values(bundles))
    for (const tool of bundle.tools) {
      const schema = tool.argSchema as {
        properties: Record<string, { description?: string }>;
        additionalProperties: boolean;
      };
      assert.ok(
        tool.description.length > 20 && tool.returns && tool.example?.startsWith(`${bundle.slug}.${tool.slug}(`),
        tool.slug,
      );
      assert.equal(schema.additionalProperties, false);
      for (const [name, argument] of Object.entries(schema.properties))
        assert.ok(argument.description, `${tool.slug}.${name}`);
      assert.equal(tool.isPublic ?? false, bundle.slug !== 'fs');
    }
});

describe('text', () => {
  test('find answers line, column and groups, and counts beyond its limit', async () => {
    assert.deepEqual(await call('text.find', { text: 'one\ntwo two', pattern: 'tw(o)', regex: true }), {
      matches: [
        { line: 2, column: 1, text: 'two', groups: ['o'] },
        { line: 2, column: 5, text: 'two', groups: ['o'] },
      ],
      count: 2,
      truncated: false,
    });
    const many = await call('text.find', { text: 'aaaa', pattern: 'A', ignore_case: true, limit: 1 });
    assert.deepEqual([many.matches.length, many.count, many.truncated], [1, 4, true]);
    assert.equal((await call('text.find', { text: 'a.c abc', pattern: 'a.c' })).count, 1);
  });

  test('replace takes plain text literally and groups in patterns', async () => {
    assert.deepEqual(await call('text.replace', { text: 'a.b.c', pattern: '.', replacement: '$1' }), {
      text: 'a$1b$1c',
      count: 2,
    });
    assert.deepEqual(
      await call('text.replace', {
        text: 'John Smith',
        pattern: '(\\w+) (\\w+)',
        replacement: '$2, $1 $$',
        regex: true,
      }),
      { text: 'Smith, John $', count: 1 },
    );
    assert.equal((await call('text.replace', { text: 'aaa', pattern: 'a', replacement: 'b', limit: 2 })).text, 'bba');
  });

  test('diff answers a unified diff', async () => {
    const { diff, ...counts } = await call('text.diff', { before: 'a\nb\nc\n', after: 'a\nx\nc\n' });
    assert.deepEqual(counts, { is_equal: false, added: 1, removed: 1 });
    assert.match(diff, /^@@ -1,3 \+1,3 @@\n a\n-b\n\+x\n c\n$/);
    assert.deepEqual(await call('text.diff', { before: 'a', after: 'a' }), {
      is_equal: true,
      added: 0,
      removed: 0,
      diff: '',
    });
  });

  test('hash and base64 agree with the world', async () => {
    assert.equal(
      await call('text.hash', { text: 'abc' }),
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    );
    assert.equal(await call('text.base64', { text: 'é?>', url_safe: true }), 'w6k_Pg');
    assert.equal(await call('text.base64', { text: 'w6k_Pg', mode: 'decode' }), 'é?>');
    await refused('text.base64', { text: 'no*base64', mode: 'decode' }, /not base64/);
    await refused('text.base64', { text: '/////w==', mode: 'decode' }, /not UTF-8/);
  });

  test('patterns that other engines choke on, or that are broken, end in an answer', async () => {
    assert.equal(
      (await call('text.find', { text: `${'a'.repeat(30_000)}b`, pattern: '(a+)+$', regex: true })).count,
      0,
    );
    await refused('text.find', { text: 'x', pattern: '(', regex: true }, /Invalid pattern/);
    await refused('text.find', { text: 'x', pattern: '(?=x)', regex: true }, /Invalid pattern.*not supported/);
  });

  test('what takes too long is ended and holds up nobody', { timeout: 120_000 }, async () => {
    const lag = setInterval(() => ticks++, 10);
    let ticks = 0;
    const slow = refused(
      'text.find',
      { text: 'a'.repeat(2_000_000), pattern: '[a-z]{20,900}[a-z]{20,900}\\d', regex: true },
      /did not answer within 5000 ms/,
    );
    assert.equal((await call('text.find', { text: 'x', pattern: 'x' })).count, 1);
    await slow;
    clearInterval(lag);
    assert.ok(ticks > 10, `only ${ticks} ticks`);
    assert.equal((await call('text.find', { text: 'x', pattern: 'x' })).count, 1);
  });

  test('a cancelled call ends at once', async () => {
    const cancel = new AbortController();
    const slow = call(
      'text.find',
      { text: 'a'.repeat(2_000_000), pattern: '[a-z]{20,900}[a-z]{20,900}\\d', regex: true },
      { signal: cancel.signal },
    );
    setTimeout(() => cancel.abort(), 50);
    await assert.rejects(slow, (error: Failure) => error.code === 'tool.cancelled');
  });
});

describe('data', () => {
  const people = {
    people: [
      { name: 'Ann', age: 30 },
      { name: 'Bob', age: 20 },
    ],
  };

  test('query takes JMESPath and pointers; what is missing is null', async () => {
    assert.deepEqual(await call('data.query', { data: people, query: 'people[?age > `25`].name' }), ['Ann']);
    assert.equal(await call('data.query', { data: people, query: '/people/1/name' }), 'Bob');
    assert.equal(await call('data.query', { data: people, query: '/people/7' }), null);
    assert.equal(await call('data.query', { data: people, query: 'nobody' }), null);
    assert.equal(await call('data.query', { data: {}, query: '/__proto__/toString' }), null);
    await refused('data.query', { data: 1, query: '[[[' }, /Invalid query/);
    await refused('data.query', { data: 'x', query: "pad_left(@, `2000000000`, 'y')" }, /.+/);
  });

  test('validate answers every error', async () => {
    assert.deepEqual(
      await call('data.validate', {
        data: { a: 1 },
        schema: { properties: { a: { type: 'string' } }, required: ['b'] },
      }),
      {
        valid: false,
        errors: [
          { path: '/b', message: 'is required' },
          { path: '/a', message: 'must be string, found integer' },
        ],
      },
    );
    assert.deepEqual(await call('data.validate', { data: 1, schema: true }), { valid: true, errors: [] });
    await refused('data.validate', { data: 1, schema: { type: 'nonsense' } }, /no usable JSON Schema/);
  });

  test('diff answers changes as JSON Patch', async () => {
    assert.deepEqual(
      await call('data.diff', { before: { a: 1, b: [1, 2], 'c/d': 1 }, after: { a: 2, b: [1], e: null } }),
      {
        is_equal: false,
        changes: [
          { op: 'replace', path: '/a', value: 2, before: 1 },
          { op: 'remove', path: '/b/1', before: 2 },
          { op: 'remove', path: '/c~1d', before: 1 },
          { op: 'add', path: '/e', value: null },
        ],
        truncated: false,
      },
    );
    assert.equal((await call('data.diff', { before: [{}], after: [{}] })).is_equal, true);
  });

  test('convert reads and writes JSON, YAML and CSV', async () => {
    const rows = [{ a: '1', b: 'x, y' }];
    assert.deepEqual(await call('data.convert', { data: 'a,b\n1,"x, y"\n', source: 'csv' }), rows);
    assert.equal(await call('data.convert', { data: rows, source: 'value', target: 'csv' }), 'a,b\r\n1,"x, y"');
    assert.equal(
      await call('data.convert', { data: [{ a: 1 }, { b: { c: 2 } }], source: 'value', target: 'csv' }),
      'a,b\r\n1,\r\n,"{""c"":2}"',
    );
    assert.deepEqual(await call('data.convert', { data: 'a: [1, two]', source: 'yaml' }), { a: [1, 'two'] });
    assert.equal(await call('data.convert', { data: '{"a":[1]}', source: 'json', target: 'yaml' }), 'a:\n  - 1\n');
    await refused('data.convert', { data: '{', source: 'json' }, /not JSON/);
    await refused('data.convert', { data: 'a: [', source: 'yaml' }, /not YAML/);
    await refused('data.convert', { data: 5, source: 'csv' }, /must be text/);
    await refused('data.convert', { data: '__proto__,b\n1,2', source: 'csv' }, /column __proto__ would be lost/);
    await refused('data.convert', { data: 'a,extra\n1,2,3', source: 'csv' }, /column extra would be lost/);
    assert.deepEqual(await call('data.convert', { data: 'a,extra\n1,2', source: 'csv' }), [{ a: '1', extra: '2' }]);
    await refused('data.convert', { data: [1, 2], source: 'value', target: 'csv' }, /list of objects/);
    let bomb = 'a: &a [x,x,x,x,x,x,x,x,x]\n';
    for (const [index, name] of [...'bcdefghij'].entries())
      bomb += `${name}: &${name} [${Array(9).fill(`*${'abcdefghij'[index]}`).join(',')}]\n`;
    await refused('data.convert', { data: bomb, source: 'yaml' }, /alias/i);
  });
});

describe('clock', () => {
  test('converts between time zones and knows summer time', async () => {
    const tokyo = await call('clock.convert', { time: '2026-11-15T09:00:00Z', timezone: 'Asia/Tokyo' });
    assert.deepEqual(tokyo, {
      iso: '2026-11-15T18:00:00.000+09:00',
      unix_ms: 1_794_733_200_000,
      timezone: 'Asia/Tokyo',
      offset: '+09:00',
      date: '2026-11-15',
      time: '18:00:00',
      weekday: 'Sunday',
    });
    const local = await call('clock.convert', {
      time: '2026-07-01T12:00',
      timezone: 'UTC',
      from_timezone: 'Europe/Berlin',
    });
    assert.equal(local.iso, '2026-07-01T10:00:00.000Z');
    await refused('clock.convert', { time: 'tomorrow', timezone: 'UTC' }, /is no time/);
    await refused('clock.convert', { time: '2026-01-01', timezone: 'Mars/Base' }, /is no time zone/);
    await refused('clock.now', { timezone: '../../etc' }, /is no time zone/);
  });

  test('adds by the calendar', async () => {
    assert.equal((await call('clock.add', { time: '2026-01-31', months: 1 })).date, '2026-02-28');
    assert.equal(
      (await call('clock.add', { time: '2026-03-28T12:00', timezone: 'Europe/Berlin', days: 1 })).iso,
      '2026-03-29T12:00:00.000+02:00',
    );
    assert.equal(
      (await call('clock.add', { time: '2026-03-28T12:00', timezone: 'Europe/Berlin', hours: 24 })).iso,
      '2026-03-29T13:00:00.000+02:00',
    );
    await refused('clock.add', { time: '2026-01-01', years: 1_000_000_000 }, /outside the calendar/);
  });

  test('now is now', async () => {
    const before = Date.now();
    const { unix_ms } = await call('clock.now', {});
    assert.ok(before <= unix_ms && unix_ms <= Date.now(), `${unix_ms}`);
  });
});

describe('calc', () => {
  const cases: [string, number][] = [
    ['1 + 2 * 3', 7],
    ['(1 + 2) * 3', 9],
    ['2 ^ 3 ^ 2', 512],
    ['-2 ^ 2', -4],
    ['2 ** -1', 0.5],
    ['7 // 2 + 7 % 3', 4],
    ['-7 % 3', 2],
    ['0.1 + 0.2', 0.3],
    ['1_000 * 1e-3', 1],
    ['.5 + 1.5', 2],
    ['round(2.345, 2)', 2.35],
    ['round(0.0000001)', 0],
    ['round(1.5e-7, 7)', 2e-7],
    ['round(123456, 0 - 3)', 123000],
    ['round(12345678901.5, 12)', 12345678901.5],
    ['max(1, 2, x) + min(3)', 13],
    ['sqrt(16) + log(8, 2) + ln(e) + cos(0)', 9],
    ['sum(1, 2, 3) / mean(2, 4)', 2],
    ['9007199254740991', 9007199254740991],
    ['-0', 0],
  ];
  for (const [formula, expected] of cases)
    test(`${formula} is ${expected}`, () => {
      assert.equal(evaluate(formula, { x: 10 }), expected);
    });

  test('mistakes are told with their place', async () => {
    for (const [expression, said] of [
      ['1 +', /ends where a number is expected/],
      ['2 constructor 3', /^Unexpected "constructor" at character 2\.$/],
      ['1 / 0', /Division by zero/],
      ['foo + 1', /Unknown name foo at character 1\. Known: pi, e, tau/],
      ['sin(1, 2)', /sin takes 1 values, got 2/],
      ['constructor(1)', /Unknown function constructor/],
      ['toString', /Unknown name toString/],
      ['(1', /\) is missing/],
      ['1 2', /Unexpected "2" at character/],
      ['process.exit()', /Unexpected/],
      ['1; 2', /Unexpected ";"/],
      ['9^9^9^9', /not a finite number/],
      ['sqrt(-1)', /not a finite number/],
      ['('.repeat(500), /nested deeper/],
      ['-'.repeat(1500), /nested deeper/],
    ] as const)
      await refused('calc.evaluate', { expression }, said);
  });

  test('any text ends in a number or a named mistake', () => {
    const text = fc.string({ unit: fc.constantFrom(...'0123456789.+-*/%^(), xe_'), maxLength: 40 });
    fc.assert(
      fc.property(text, (formula) => {
        try {
          assert.ok(Number.isFinite(evaluate(formula, { x: 2 })));
        } catch (error) {
          assert.equal((error as Error).constructor.name, 'FormulaError', String(error));
        }
      }),
      { numRuns: 3000 },
    );
  });
});
