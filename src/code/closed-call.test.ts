import assert from 'node:assert/strict';
import { test } from 'node:test';
import { certainCalls } from './certain-calls.ts';
import { programShape } from './program-shape.ts';

function closed(code: string): string | undefined {
  const call = certainCalls(programShape(code)).closed;
  return call && `${call.pack ?? ''}/${call.name}: ${code.slice(call.start, call.end)}`;
}

test('a call is closed when nothing but the text decides what it is given', () => {
  const all = 'parallel([("p.f", {"x": str(i)}) for i in range(10)])';
  assert.equal(closed(all), `/parallel: ${all}`);
  assert.equal(closed(`# note\nrows = ${all}\nrows[0]`), `/parallel: ${all}`);
  const some = 'parallel([("p.f", {"q": q, "n": i + 1}) for i, q in enumerate(words) if q not in ["b"]])';
  assert.equal(closed(`words = ["a", "b"]\n${some}`), `/parallel: ${some}`);
  assert.equal(closed('x = p.f(n=2 * 5, t="a" + "b", d={})\ny'), 'p/f: p.f(n=2 * 5, t="a" + "b", d={})');
  assert.equal(closed('p.f(dict(a=sorted([2, 1])), *[1])'), 'p/f: p.f(dict(a=sorted([2, 1])), *[1])');
});

test('a call is not closed when anything else has a say', () => {
  for (const code of [
    'parallel([("p.f", {"x": x})])',
    'x = y\nparallel([("p.f", {"x": x})])',
    'parallel([("p.f", {"x": random()})])',
    'parallel([("p.f", {"x": a.b})])',
    'parallel([("p.f", {"x": "a".upper()})])',
    'parallel([("p.f", {"x": f"{a}"})])',
    'parallel([("p.f", {"x": n}) for n in {3, 1, 2}])',
    'parallel([("p.f", {"x": n}) for n in {m for m in [1, 2]}])',
    'parallel([("p.f", {"x": n}) for n in {**{}, 1: 2}])',
    'parallel([("p.f", {"x": (n := 1)})])',
    'parallel(sorted(["p.f"], key=lambda x: x))',
    'parallel(["p.f"])[0]',
    'parallel(["p.f"]) + parallel(["p.f"])',
    'f(1)(2)',
    'a.b.c(1 + 1)',
    'print(x)',
    'parallel([("p.f", {"x": str(1)})])\nstr = 1',
    'parallel = 1\nparallel([1])',
    'for x in parallel(["p.f"]):\n    x',
    'x = 1 / 0\nparallel(["p.f"])',
    'x = __known_0__\nparallel(["p.f"])',
    '',
  ])
    assert.equal(closed(code), undefined, code);
});
