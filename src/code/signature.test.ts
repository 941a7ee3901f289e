import { test } from 'node:test';
import assert from 'node:assert/strict';
import fc from '../../test/kit/fast-check.ts';
import { bindArguments, checkArgumentNames } from './bind-arguments.ts';
import { functionInfo } from './signature.ts';

const signature = (schema: unknown): string => functionInfo('p.f', schema).signature;

test('types are written as Python writes them', () => {
  const properties = {
    s: { type: 'string' },
    i: { type: 'integer' },
    n: { type: 'number' },
    b: { type: 'boolean' },
    l: { type: 'array' },
    o: { type: 'object' },
    u: { type: ['null', 'string'] },
    a: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
    e: { enum: ['x', 1] },
    c: { const: true },
    v: { enum: [null, 1.5, [1], { a: 1 }] },
    x: {},
    w: { type: 'odd' },
    y: { type: 'string', nullable: true },
  };
  assert.equal(
    signature({ properties, required: Object.keys(properties) }),
    'p.f(s: str, i: int, n: float, b: bool, l: list, o: dict, u: str | None, a: int | None, e: str | int, c: bool, v: float | list | dict | None, x: Any, w: Any, y: str | None)',
  );
});

test('arguments that the schema does not name are taken where it allows them', () => {
  const properties = { a: { type: 'string' } };
  const isOpen = (schema: object): boolean => functionInfo('p.f', schema).isOpen;
  assert.deepEqual(
    [
      { additionalProperties: true },
      { additionalProperties: { type: 'string' } },
      {},
      { additionalProperties: false },
    ].map((more) => [isOpen({ properties, ...more }), isOpen(more)]),
    [
      [true, true],
      [true, true],
      [false, true],
      [false, false],
    ],
  );
  const one = functionInfo('p.f', { properties, required: ['a'] });
  assert.match(JSON.stringify(bindArguments(one, ['x', 'y'], [])), /takes 1 positional argument but 2 were given/);
  assert.match(JSON.stringify(bindArguments(one, [], [])), /missing 1 required argument: 'a'/);
});

test('required parameters come first, the others show a default or a placeholder', () => {
  const properties = {
    a: { type: 'string' },
    b: { type: 'string' },
    c: { default: null },
    d: { default: "it's" },
    e: { default: { k: [true, 1.5] } },
    f: { default: '' },
    g: { default: false },
  };
  assert.equal(
    signature({ properties, required: ['b'] }),
    `p.f(b: str, a: str = '...', c: Any = None, d: Any = "it's", e: Any = {'k': [True, 1.5]}, f: Any = '', g: Any = False)`,
  );
});

test('references are followed inside the schema, and loops end', () => {
  const $defs = {
    name: { type: 'string', description: 'a name' },
    loop: { $ref: '#/$defs/loop' },
    deep: { anyOf: [{ $ref: '#/$defs/deep' }] },
  };
  const info = functionInfo('p.f', {
    properties: {
      n: { $ref: '#/$defs/name' },
      l: { $ref: '#/$defs/loop' },
      d: { $ref: '#/$defs/deep' },
      g: { $ref: 'http://elsewhere' },
    },
    $defs,
  });
  assert.equal(info.signature, "p.f(n: str = '...', l: Any = '...', d: Any = '...', g: Any = '...')");
  assert.equal(info.params[0]?.description, 'a name');
});

test('a type that nobody knows is Any, also one named like what every object has', () => {
  const properties = { a: { type: 'constructor' }, b: { type: ['toString', 'string'] } };
  assert.equal(functionInfo('p.f', { properties }).signature, "p.f(a: Any = '...', b: Any = '...')");
});

test('no schema at all, however odd, breaks it', () => {
  for (const schema of [
    true,
    false,
    null,
    undefined,
    5,
    'x',
    [],
    { properties: 5 },
    { properties: { a: 5, b: null, c: [] }, required: 'a' },
    { properties: { a: { type: [{ toString: 1 }] } } },
  ])
    assert.ok(signature(schema).startsWith('p.f('));
  fc.assert(
    fc.property(fc.object(), (schema) => assert.ok(signature({ properties: schema, ...schema }).startsWith('p.f('))),
  );
});

const names = fc.uniqueArray(fc.stringMatching(/^[a-c]{1,4}$/), { minLength: 1, maxLength: 6 });

test('a keyword means the parameter of that name, else the only one that starts with it, else it is refused', () => {
  fc.assert(
    fc.property(names, fc.stringMatching(/^[a-c]{1,4}$/), (params, keyword) => {
      const info = functionInfo('p.f', {
        properties: Object.fromEntries(params.map((name) => [name, {}])),
        additionalProperties: false,
      });
      const bound = bindArguments(info, [], [[keyword, 1]]);
      const starting = params.filter((name) => name.startsWith(keyword));
      if (params.includes(keyword)) assert.deepEqual(bound, { args: { [keyword]: 1 } });
      else if (starting.length === 1) assert.deepEqual(bound, { args: { [starting[0]!]: 1 } });
      else
        assert.ok(
          'problem' in bound &&
            bound.problem.includes('Signature: p.f(') &&
            bound.problem.includes(starting.length > 1 ? 'ambiguous' : 'unexpected'),
        );
    }),
  );
});

test('positions fill parameters in schema order, and no parameter is filled twice', () => {
  fc.assert(
    fc.property(names, fc.array(fc.integer(), { maxLength: 8 }), (params, values) => {
      const info = functionInfo('p.f', { properties: Object.fromEntries(params.map((name) => [name, {}])) });
      const bound = bindArguments(info, values, []);
      if (values.length > params.length) assert.ok('problem' in bound);
      else assert.deepEqual(bound, { args: Object.fromEntries(values.map((value, i) => [params[i], value])) });
      if (values.length > 0 && values.length <= params.length)
        assert.ok('problem' in bindArguments(info, values, [[params[0]!, 0]]));
    }),
  );
});

test('names that Python cannot write have a form that it can', () => {
  const info = functionInfo('p.f', { properties: { from: {}, 'max-results': {} }, additionalProperties: false });
  assert.deepEqual(
    bindArguments(
      info,
      [],
      [
        ['from_', 1],
        ['max_results', 2],
      ],
    ),
    { args: { from: 1, 'max-results': 2 } },
  );
});

test('an open schema hands unknown names on', () => {
  const info = functionInfo('p.f', { properties: { a: {} }, additionalProperties: true });
  assert.deepEqual(
    bindArguments(
      info,
      [],
      [
        ['other', 1],
        ['__proto__', 2],
      ],
    ),
    { args: JSON.parse('{"other":1,"__proto__":2}') },
  );
});

test('what is required and not given is named, unless more may come', () => {
  const info = functionInfo('p.f', { properties: { a: {}, b: {}, c: {} }, required: ['a', 'b'] });
  const problem = (positional: unknown[], keywords: [string, unknown][]): string => {
    const bound = bindArguments(info, positional, keywords);
    return 'problem' in bound ? bound.problem : '';
  };
  assert.match(problem([], [['a', 1]]), /^p\.f\(\) missing 1 required argument: 'b'\nSignature: /);
  assert.match(problem([], [['c', 1]]), /^p\.f\(\) missing 2 required arguments: 'a', 'b'\nSignature: /);
  assert.match(problem([1], []), /^p\.f\(\) missing 1 required argument: 'b'\nSignature: /);
  assert.match(checkArgumentNames(info, 1, ['c'], false) ?? '', /missing 1 required argument: 'b'/);
  assert.equal(checkArgumentNames(info, 1, ['c'], true), undefined);
  assert.equal(checkArgumentNames(info, 1, ['b'], false), undefined);
});
