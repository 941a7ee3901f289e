import { test } from 'node:test';
import assert from 'node:assert/strict';
import fc from '../../test/kit/fast-check.ts';
import { programShape } from './program-shape.ts';
import { everyToken, pythonTokens } from './python-tokens.ts';
import { stripWrapping } from './strip-wrapping.ts';

test('knows strings of all kinds, and what is inside f-strings', () => {
  const names = (code: string): string[] =>
    [...everyToken(pythonTokens(code))].filter((token) => token.kind === 'name').map((token) => token.text);
  assert.deepEqual(names('a = "b" + \'c\' + """d\ne""" # f'), ['a']);
  assert.deepEqual(names('f"{brave.search(q=\'x\')!r:>{width}} {{no}}"'), ['brave', 'search', 'q', 'width']);
  assert.deepEqual(names('f"{f"{inner}"}"'), ['inner']);
  assert.deepEqual(names('rb"x" + Rb\'y\' + u"z"'), []);
  assert.deepEqual(names('r"\\"a" + b + "\\\\" + c'), ['b', 'c']);
});

test('never loses a character and never hangs, whatever it is given', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc
          .array(fc.constantFrom('"', "'", '"""', 'f"', '{', '}', '(', ')', '\\', '\n', '#', 'x', '=', ':', ' '), {
            maxLength: 40,
          })
          .map((parts) => parts.join('')),
      ),
      (code) => {
        let end = 0;
        for (const token of pythonTokens(code)) {
          assert.ok(token.start >= end && token.end <= code.length);
          assert.equal(token.text, code.slice(token.start, token.end));
          end = token.end;
        }
        programShape(code);
      },
    ),
  );
});

test('tells an expression at the end from a statement', () => {
  for (const code of [
    '1',
    'x = 1\nx',
    'f(a=1)',
    'a == b',
    'lambda x: x',
    'x = 1; x',
    '{"a": 1}',
    '(y := 5)',
    'x if y else z',
    '[i for i in x]',
    '"""doc"""',
    'await f()',
    'not x',
    'a\n# end',
  ])
    assert.ok(programShape(code).endsInExpression, code);
  for (const code of [
    'x = 1',
    'x += 1',
    'x: int',
    'x[0] = 1',
    'if x: 1',
    'for i in x:\n    i',
    'def f(): 1',
    'import a',
    'return 1',
    'pass',
    'x = lambda: 1',
    '',
    'a; b = 1',
    'a; pass',
  ])
    assert.ok(!programShape(code).endsInExpression, code);
});

test('tells names that are read from attributes and keywords', () => {
  const read = (code: string): string[] => [...programShape(code).freeNames];
  assert.deepEqual(read('x = p.f(text=q, n=[data.text(k=1)])'), ['x', 'p', 'q', 'data']);
  assert.deepEqual(read('f"{p.f(text=q)}"'), ['p', 'q']);
});

test('finds names that a function uses before they are defined', () => {
  const forward = (code: string): string[] => programShape(code).forwardNames;
  assert.deepEqual(forward('def a():\n    return b() + N\ndef b(): pass\nN = 1'), ['b', 'N']);
  assert.deepEqual(forward('g = lambda: later()\ndef later(): pass'), ['later']);
  assert.deepEqual(forward('def a(): return __b()\ndef __b(): pass'), ['__b']);
  assert.deepEqual(forward('def a(): return a()'), []);
  assert.deepEqual(forward('x = 1\ndef a(): return x'), []);
});

test('knows what a program names itself, and what it leaves to the host', () => {
  const sites = (code: string): string[] =>
    programShape(code).callSites.flatMap(({ pack, name }) => (pack ? [`${pack}.${name}`] : []));
  for (const code of [
    'x = {}\nx.get("a")',
    'for a, (b, c) in x: c.go()',
    '[r.get("x") for r in rows]',
    'import json as j\nj.dumps(1)',
    'from re import match\nmatch("a", "b")',
    'with x as f: f.read()',
    'try:\n    y = 1\nexcept ValueError as e:\n    e.args.count(1)',
    'def f(a, *b, c=1, **d): return d.get(c)',
    'sorted(x, key=lambda a=1, r=2: r.get("x"))',
    'if (m := x): m.group(1)',
    'async def f(q): return q.get()',
    '"".join(x)',
    'str.upper("a")',
    'global g\ng = {}\ng.get(1)',
  ])
    assert.deepEqual(sites(code), [], code);
  assert.deepEqual(sites('brave.search(q=demo.foo(text="a"))'), ['brave.search', 'demo.foo']);
  assert.deepEqual(sites('f"{brave.search(1)}"'), ['brave.search']);
  assert.deepEqual(sites('try:\n    brave.x()\nexcept E:\n    demo.y()\nfinally:\n    demo.z()'), ['demo.y', 'demo.z']);
});

test('takes fences, ticks, prefix and a common margin away', () => {
  for (const wrapped of [
    '```python\n1\n2\n```',
    '```\n1\n2```',
    '__ot 1\n2',
    '__ot\n```py\n1\n2\n```',
    '  1\n  2',
    '`1\n2`',
    '```\n1\n2',
  ])
    assert.equal(stripWrapping(wrapped), '1\n2', wrapped);
  assert.equal(stripWrapping('__other = 1'), '__other = 1');
  assert.equal(stripWrapping('x = """```"""'), 'x = """```"""');
});
