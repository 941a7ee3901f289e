import { after, test } from 'node:test';
import assert from 'node:assert/strict';
import { functionInfo, openEngine, type World } from './index.ts';

const engine = openEngine({
  childPath: new URL('./child.ts', import.meta.url).pathname,
  limits: () => ({ timeoutMs: 30_000, maxMemoryMb: 64, maxCalls: 50 }),
});
after(() => engine.close());

const upper = functionInfo('text.upper', { properties: { text: { type: 'string' } }, required: ['text'] });
const world: World = {
  pack: (name) =>
    name === 'text'
      ? { name, find: (each) => (each === 'upper' ? upper : undefined), names: () => ['upper'] }
      : undefined,
  packNames: () => ['text'],
  aliases: { shout: 'text.upper' },
  call: async (_target, args) => ({ value: String(args['text']).toUpperCase() }),
};

async function answer(code: string): Promise<string> {
  const outcome = await engine.run({ code, owner: 'someone', world });
  return outcome.ok ? outcome.json : outcome.error.text;
}

test('a function may use variables of the program and tools together', async () => {
  assert.equal(await answer('rows = []\ndef add(q):\n    rows.append(text.upper(text=q))\nadd("x")\nrows'), '["X"]');
  assert.equal(await answer('a = 1\nb = 2\nf = lambda q: [b, a, text.upper(text=q)]\nf("x")'), '[2,1,"X"]');
  assert.equal(await answer('a = 1\ndef f():\n    g = shout\n    return [a, g("x")]\nf()'), '[1,"X"]');
  const inTry =
    'log = []\ndef f():\n    try:\n        log.append(text.upper(text="x"))\n    finally:\n        log.append(1)';
  assert.equal(await answer(`${inTry}\nf()\nlog`), '["X",1]');
});

test('a pack is one until the program gives its name another meaning', async () => {
  assert.equal(await answer('text = text.upper(text="x")\ntext'), '"X"');
  assert.equal(await answer('x = text.upper(text="x")\ntext = 5\n[x, text]'), '["X",5]');
  assert.equal(await answer('def f(q):\n    return text.upper(text=q)\ntext = f("x")\ntext'), '"X"');
});

test('what a parameter, a lambda or a comprehension calls its own means the pack everywhere else', async () => {
  const before = 'def f(q):\n    return text.upper(text=q)\n';
  for (const line of [
    'def g(text): return text.strip()',
    'x = [text for text in ["a"]]',
    'x = sorted(["a"], key=lambda text: text)',
  ])
    assert.equal(await answer(`${before}${line}\nf("x")`), '"X"', line);
});

test('a builtin that is given another meaning further down is a builtin above', async () => {
  assert.equal(await answer('def f(rows): return sum(rows)\nsum = f([1, 2])\nsum'), '3');
  assert.equal(await answer('def f(rows): return max(rows)\nx = [max for max in [1]]\nf([3, 4])'), '4');
});

test('a name that only functions set is the same for all of them', async () => {
  assert.equal(await answer('def f():\n    global made\n    made = 3\nf()\nmade'), '3');
  assert.equal(await answer('def f(): return made\ndef g():\n    global made\n    made = 3\ng()\nf()'), '3');
});

test('a name that means nothing is told by its name, wherever it is missed', async () => {
  const missed = /^NameError: name 'zz' is not defined/;
  assert.match(await answer('a = 1\ndef f():\n    print(a)\n    return zz\nf()'), missed);
  assert.match(await answer('a = 1\ndef f(q):\n    print(a)\n    return q + zz\nf(1)'), missed);
  assert.match(
    await answer('a = 1\ndef f(\n    q,\n    r,\n):\n    return (\n        q +\n        zz)\nf(1, 2)'),
    missed,
  );
  assert.doesNotMatch(await answer('p = text\ndef f(): return zz\np.upper(text="x")\nf()'), /pack 'zz'/);
  assert.match(await answer('def f(q):\n    try:\n        zz.go()\n    finally: pass\nf(1)'), /there is no pack 'zz'/);
  assert.match(await answer('rows = sorted(zz, key=lambda r: r["a"])'), missed);
  assert.match(await answer('def f(): return zz()\nf()\ndef zz(): return 1'), missed);
  assert.match(
    await answer('fs = [lambda: i for i in range(3)]\n[f() for f in fs]'),
    /^NameError: name 'i' is not defined/,
  );
  assert.match(
    await answer('x = 1\ndef f():\n    x += 1\nf()'),
    /^UnboundLocalError: .*'x'.*\n  line 4: f\(\)\n  line 3, in f: x \+= 1$/,
  );
});

test('a call with the wrong number of arguments, and a variable without a value, are told by their own lines', async () => {
  assert.match(await answer('def f(a):\n    return a\n\nx = 1\nf()'), /missing 1 required .*\n  line 5: f\(\)$/);
  assert.match(
    await answer('def f(a):\n    return a\ndef g():\n    return f(1, 2)\n\ng()'),
    /but 2 were given\n  line 4: return f\(1, 2\)$/,
  );
  assert.match(await answer('def f(a):\n    return a\nf(1)\nf()'), /missing 1 required .*\n  line 1: def f\(a\):$/);
  assert.match(await answer('x = 1\nlen()'), /\n  line 2: len\(\)$/);
  assert.match(
    await answer('x = 1\ndef f():\n    y = 2\n    x += y\nf()'),
    /^UnboundLocalError: .*'x'.*\n  line 5: f\(\)\n  line 4, in f: x \+= y$/,
  );
  assert.match(
    await answer('x = 1\ndef f():\n    print(f"{x}")\n    x = 2\nf()'),
    /^UnboundLocalError: .*'x'.*\n  line 5: f\(\)\n  line 3, in f: print/,
  );
});

test('a tool on the line of a missed name is not taken for it', async () => {
  const code = 'for it in [1]:\n    def f():\n        print(text.upper(text="x"), it)\n        it = 2\nf()';
  assert.match(
    await answer(code),
    /^UnboundLocalError: a local variable on this line has no value yet\n  line 5: f\(\)\n  line 3/,
  );
});
