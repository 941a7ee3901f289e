import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import fc from '../../test/kit/fast-check.ts';
import { certainCalls } from './certain-calls.ts';
import { functionInfo, openEngine, type ProgramOutcome, type World } from './index.ts';
import { programShape } from './program-shape.ts';

const childPath = new URL('./child.ts', import.meta.url).pathname;
let maxMemoryMb = 16;
const engine = openEngine({ childPath, limits: () => ({ timeoutMs: 30_000, maxMemoryMb, maxCalls: 20 }) });
after(() => engine.close());

const found = (code: string): string[] =>
  certainCalls(programShape(code)).calls.map(({ pack, name, args, kwargs }) => `${pack}.${name}${args}${kwargs}`);

test('calls with written-out arguments at the start of a program are certain', () => {
  assert.deepEqual(found('a = p.f(x="1", n=-2)\n# then\np.g("y", [True, None, {"k": 0}])\nb = a'), [
    'p.f[]{"x":"1","n":-2}',
    'p.g["y",[true,null,{"k":0}]]{}',
  ]);
  assert.deepEqual(found('p.f(x={"a": 1, "b": [2, 3],})'), ['p.f[]{"x":{"a":1,"b":[2,3]}}']);
  assert.deepEqual(found("import json\nq = 'x'\na = p.f()\nb = p.f(\n  x='',\n)"), ['p.f[]{}', 'p.f[]{"x":""}']);
});

test('what depends on anything else is not certain', () => {
  const none = [
    'if x:\n    a = p.f()\nb = p.f()\nc = p.f()',
    'print(1)\na = p.f()\nb = p.f()',
    'p = 1\na = p.f()\nb = p.f()',
    'a, b = p.f()\nc = p.f()\nd = p.f()',
    'try:\n    a = p.f()\n    b = p.f()\nexcept ValueError:\n    pass',
    'a = p.f(x=f"{p.g()}")\nb = p.f()',
    'a = p.f(x="\\n")\nb = p.f()',
    'a = p.f(x=1.5)\nb = p.f(x=-0)',
    'a = p.f(*[1])\nb = p.f()',
    'a = p.f().x\nb = p.f()',
    'a = p.f(); b = p.f()',
    'a = p.f(x={"a": 1 "b": 2})',
    'a = p.f(x=[1 2])',
    'a = p.f(x=1 y=2)',
  ];
  for (const code of none) assert.deepEqual(found(code), [], code);
  for (const code of ['a = p.f()', 'a = p.f()\nb = p.f(x=a)', 'a = p.f()\nb = p.f(x=1.5)'])
    assert.deepEqual(found(code), ['p.f[]{}'], code);
  assert.equal(found('a = p.f()\nb = p.f()\nif a:\n    c = p.f()\nd = p.f()').length, 2);
});

test('the first call is as certain as the rest when only written-out values stand before it', () => {
  const isAtOnce = (code: string): boolean => certainCalls(programShape(code)).isAtOnce;
  for (const code of ['a = p.f()', '# note\nx = [1, {"k": None}]\n__format__ = "json"\np.f()'])
    assert.ok(isAtOnce(code), code);
  for (const code of ['x = y\np.f()', 'x = 1 / 0\np.f()', 'import nothing\np.f()', 'x = "a" * 9\np.f()', 'x\np.f()'])
    assert.ok(!isAtOnce(code), code);
});

const info = functionInfo('p.f', { properties: { x: {}, y: {} } });
async function calls(code: string, isReadOnly: boolean): Promise<{ made: string[]; outcome: ProgramOutcome }> {
  const made: string[] = [];
  const world: World = {
    pack: (name) =>
      name === 'p' ? { name, find: (each) => (each === 'f' ? info : undefined), names: () => ['f'] } : undefined,
    isReadOnly: () => isReadOnly,
    async call(_, args) {
      made.push(JSON.stringify(args));
      if (args['x'] === 'bad') return { error: { type: 'ValueError', message: 'bad' } };
      if (args['x'] === 'end') throw new Error('it is over');
      if (args['x'] === 'slow') await new Promise((resolve) => setTimeout(resolve, 8));
      if (args['x'] === 'huge') return { value: Array.from({ length: 340_000 }, () => []) };
      return { value: [made.length, args] };
    },
  };
  return { outcome: await engine.run({ code, owner: 'someone', world }), made };
}

test('calls made ahead are the calls that the program makes, in its order, with its answers', async () => {
  const line = fc.constantFrom(
    'a = p.f(x="1")',
    'b = p.f(x=2, y=[None, {"k": "v", "k": True}])',
    'p.f("é", -3)',
    'i = p.f(\n    x="two",\n    y=3,\n)',
    'i["x"]',
    'def later():\n    return a',
    'j = parallel([("p.f", {"x": str(n)}) for n in range(3)])',
    'k = parallel([("p.f", ["bad"]), "p.f", ("q.f", {})])',
    'l = [p.f(x=n) for n in {3, 1, 2}]',
    'w = [1, "bad"]',
    'm = parallel([("p.f", {"x": n}) for n in w])',
    'p.f(x="a" + "b", y=str(1))',
    'str(2)',
    'm["x"]',
    'c = p.f(x="slow")',
    'd = p.f(x="bad")',
    'e = p.f(x="end")',
    'f = p.f(x=q)',
    'p.f(z=1)',
    'for i in [1, 2]:\n    g = p.f(x=i)',
    'if q == "x":\n    h = p.f()',
    'q = "x"',
    'q',
    'print("here")',
    'import json',
    'p = 5',
    'x = 1 / 0',
    '# note',
    '',
  );
  await fc.assert(
    fc.asyncProperty(fc.array(line, { minLength: 2, maxLength: 9 }), async (lines) => {
      const code = lines.join('\n');
      const plain = await calls(code, false);
      // From the second time on the text is known, and what it begins with is called before it starts.
      for (let time = 0; time < 4; time++) assert.deepEqual(await calls(code, true), plain);
    }),
    { numRuns: 150 },
  );
});

test('a call that is made once more later leads to nothing that followed it the first time', async () => {
  for (const between of ['print("here")', 'if a:\n    pass', 'b = p.f(y=a)']) {
    const code = `a = p.f(x=1)\np.f(x=2)\n${between}\np.f(x=1)`;
    const plain = await calls(code, false);
    for (let time = 0; time < 4; time++) assert.deepEqual(await calls(code, true), plain, code);
  }
});

test('a call that may change something waits until the program has taken in the answer before it', async () => {
  // Half of what the first answer needs.
  maxMemoryMb = 8;
  const code = 'a = p.f(x="huge")\nb = p.f(x=2)';
  for (const isReadOnly of [false, true]) {
    const { made, outcome } = await calls(code, isReadOnly);
    assert.match(outcome.ok ? '' : outcome.error.text, /MemoryError/);
    assert.deepEqual(made.slice(1), isReadOnly ? ['{"x":2}'] : []);
  }
});

test('what is known of a text is nothing about who runs it', async () => {
  const code = 'a = p.f(x="1")\nb = p.f(y=[a])\nb';
  const text = 'first = p.f(x="1")\nsecond = p.f(x=2)\n[first, second]';
  const asked: string[] = [];
  const as = async (who: string, program: string, change: Partial<World> = {}): Promise<string> => {
    const world: World = {
      pack: (name) => (name === 'p' ? { name, find: () => info, names: () => ['f'] } : undefined),
      packNames: () => ['p'],
      isReadOnly: () => true,
      call: (_, args) => (asked.push(who), Promise.resolve({ value: [who, args['x'] ?? null] })),
      ...change,
    };
    const outcome = await engine.run({ code: program, owner: who, world });
    return outcome.ok ? outcome.json : outcome.error.text;
  };
  for (let time = 0; time < 3; time++) {
    assert.equal(await as('ann', text), '[["ann","1"],["ann",2]]');
    assert.equal(await as('bob', text), '[["bob","1"],["bob",2]]');
    assert.equal(await as('ann', code), '["ann",null]');
    const both = 'parallel([("p.f", {"x": n}) for n in [1, 2]])';
    assert.equal(await as('kim', both), '[["kim",1],["kim",2]]');
    assert.equal(await as('lou', both), '[["lou",1],["lou",2]]');
    assert.match(await as('eve', both, { pack: () => undefined, packNames: () => [] }), /there is no pack 'p'/);
    assert.match(await as('eve', text, { pack: () => undefined }), /there is no pack 'p'/);
    assert.match(
      await as('joe', text, { call: () => Promise.resolve({ error: { type: 'ValueError', message: 'no' } }) }),
      /^ValueError: no\n  line 1: /,
    );
    assert.match(await as('max', text, { call: () => Promise.reject(new Error('it is over')) }), /it is over/);
  }
  assert.equal(asked.filter((who) => who === 'ann').length, 12);
  assert.ok(!asked.includes('eve'));
});
