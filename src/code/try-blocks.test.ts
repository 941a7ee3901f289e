import { after, test } from 'node:test';
import assert from 'node:assert/strict';
import { openEngine, type World } from './index.ts';
import { markTries } from './try-blocks.ts';

const engine = openEngine({
  childPath: new URL('./child.ts', import.meta.url).pathname,
  limits: () => ({ timeoutMs: 30_000, maxMemoryMb: 64, maxCalls: 50 }),
});
after(() => engine.close());

const world: World = { call: async () => ({ value: null }) };

async function answer(code: string): Promise<string> {
  const outcome = await engine.run({ code, owner: 'someone', world });
  return outcome.ok ? outcome.json : outcome.error.text;
}

/** The trace of a program that fails. */
const trace = async (code: string): Promise<string[]> => (await answer(code)).split('\n').slice(1);

test('a failure that no except takes is told by the line that failed', async () => {
  assert.deepEqual(await trace('x = 1\ntry:\n    x = 1 / 0\nexcept ValueError as e:\n    print(e)'), [
    '  line 3: x = 1 / 0',
  ]);
  assert.deepEqual(await trace('try:\n    1 / 0\nexcept KeyError:\n    pass  # never mind'), ['  line 2: 1 / 0']);
  assert.deepEqual(await trace('try: x = 1 / 0\nexcept KeyError: x = 2\nelse: x = 3'), ['  line 1: try: x = 1 / 0']);
  const loop =
    'def f():\n    for i in [0]:\n        try:\n            1 / i\n        except KeyError:\n            continue\nf()';
  assert.deepEqual(await trace(loop), ['  line 7: f()', '  line 4, in f: 1 / i']);
});

test('of a longer block its lines are named, not one that has nothing to do with it', async () => {
  const code =
    'def f(x):\n    try:\n        y = x + 1\n        return y / 0\n    except KeyError:\n        return 5\nf(1)';
  assert.deepEqual(await trace(code), ['  line 7: f(1)', '  one of the lines 3 to 4, in f']);
  const nested =
    'try:\n    x = 1\n    try:\n        1 / 0\n    except KeyError:\n        x = 2\nexcept IndexError:\n    x = 3\nx = 4';
  assert.deepEqual(await trace(nested), ['  one of the lines 2 to 6']);
});

test('what goes through a finally, or is raised again, is told by what it came from', async () => {
  assert.deepEqual(await trace('try:\n    1 / 0\nfinally:\n    y = 1\n    z = 2'), ['  line 2: 1 / 0']);
  const inHandler = 'try:\n    int("x")\nexcept ValueError:\n    1 / 0\nfinally:\n    y = 1';
  assert.deepEqual(await trace(inHandler), ['  one of the lines 2 to 4']);
  assert.deepEqual(await trace('try:\n    1 / 0\nexcept Exception as e:\n    y = 1\n    raise'), ['  line 2: 1 / 0']);
  assert.deepEqual(await trace('try:\n    1 / 0\nexcept Exception: raise'), ['  line 2: 1 / 0']);
});

test('an except that ends in return, raise, break or continue hides no line', async () => {
  const inLoop = (end: string): string =>
    `def f():\n    for i in [0]:\n        try:\n            1 / i\n        except KeyError as e:\n            x = i\n            ${end}\nf()`;
  for (const end of [
    'return',
    'return x',
    'return x, 1',
    'if x: return x',
    'raise RuntimeError("x") from e',
    'break',
    'continue',
  ])
    assert.deepEqual(await trace(inLoop(end)), ['  line 8: f()', '  line 4, in f: 1 / i'], end);
  const taken = (end: string): string =>
    `def f(*x):\n    try:\n        {}["k"]\n    except KeyError as e:\n        ${end}\nf(1)`;
  assert.equal(await answer(taken('return *x, 2')), '[1,2]');
  assert.equal(await answer(taken('return')), 'null');
  for (const end of ['return 1 / 0', 'raise RuntimeError("x") from e', 'raise RuntimeError(str(1 / 0))'])
    assert.deepEqual(await trace(taken(end)), ['  line 6: f(1)', `  line 5, in f: ${end}`]);
});

test('what fails inside an except, an else or a finally keeps its own line', async () => {
  const before = 'try:\n    int("x")\nexcept ValueError:\n';
  assert.deepEqual(await trace(`${before}    print(1 / 0)`), ['  line 4: print(1 / 0)']);
  assert.deepEqual(await trace(`${before}    raise KeyError("k")`), ['  line 4: raise KeyError("k")']);
  assert.deepEqual(await trace('try:\n    x = 1\nexcept ValueError:\n    pass\nelse:\n    1 / 0'), ['  line 6: 1 / 0']);
  assert.deepEqual(await trace('try:\n    x = 1\nfinally:\n    x = 2\n    1 / 0'), ['  line 5: 1 / 0']);
  assert.deepEqual(await trace('try:\n    1 / 0\nexcept Missing:\n    x = 2'), ['  line 3: except Missing:']);
});

test('a name that a long block misses is found in it', async () => {
  const code = 'a = 1\ndef f(q):\n    try:\n        print(a)\n        return q + zz\n    finally:\n        a\nf(1)';
  assert.match(await answer(code), /^NameError: name 'zz' is not defined/);
});

test('programs mean the same with marks in them, and broken ones stay broken in the same way', async () => {
  const caught =
    'out = []\nfor text in ["1", "x", None]:\n    try:\n        out.append(int(text))\n    except ValueError as e:\n        out.append("no")\n    except TypeError:\n        out.append("é"); continue\n    else:\n        out.append("ok")\n    finally:\n        out.append(0);\nout';
  assert.equal(await answer(caught), '[1,"ok",0,"no",0,"é",0]');
  assert.equal(await answer('try:\n    x = """\n; """\nexcept KeyError:\n    x = """a\n    b"""  # c\nx'), '"\\n; "');
  for (const broken of ['try:\n    x = 1\nexcept KeyError:\n    print(', 'try:\n    x = 1\nexcept KeyError:\nx = 2'])
    assert.equal(markTries(broken).code, broken);
  const { code } = markTries('try:\n    a\nexcept X:\n    b  # c\nfinally:\n    d\n"try"');
  assert.equal(code, 'try:\n    a\nexcept X:\n    b; 0  # c\nfinally:\n    d; 0\n"try"');
});
