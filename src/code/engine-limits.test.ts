import { after, test } from 'node:test';
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../test/kit/until.ts';
import { braveWorld, childPath, endings } from './fixtures/brave-world.ts';
import { openEngine } from './index.ts';

const engine = openEngine({ childPath, limits: () => ({ timeoutMs: 30_000, maxMemoryMb: 64, maxCalls: 50 }) });
const strict = openEngine({ childPath, limits: () => ({ timeoutMs: 1500, maxMemoryMb: 64, maxCalls: 50 }) });
after(() => {
  engine.close();
  strict.close();
});

const { world, waits } = braveWorld();
const { run, failure } = endings(engine, world);

test('programs built to break a parser are refused by name, also when they are only checked', async () => {
  const programs = [
    '('.repeat(50_000),
    '-'.repeat(90_000) + '1',
    `f"{`.repeat(20_000),
    'lambda: '.repeat(15_000) + '1',
    'a.b('.repeat(30_000),
    '```\n'.repeat(30_000),
    'x = ['.repeat(20_000),
    '$a\n'.repeat(30_000),
    '"'.repeat(99_999),
  ];
  for (const code of [...programs, 'x = 1\n'.repeat(40_000)]) {
    const error = await engine.check(code, { owner: 'a' });
    assert.equal(error?.type, 'SyntaxError', code.slice(0, 20));
    assert.match(await failure(code), /^SyntaxError/, code.slice(0, 20));
  }
});

test('ends a program that makes too many calls, and it cannot catch that', async () => {
  assert.match(
    await failure('for i in range(100):\n    try:\n        brave.search("x")\n    except Exception:\n        pass'),
    /more than 50 calls/,
  );
});

test('names the line at which a program made too many calls', async () => {
  const loop = 'def look():\n    return brave.search("x")\nfor i in range(100):\n    look()';
  assert.match(
    await failure(loop),
    /^RuntimeError: the program made more than 50 calls[^]*line 4: look\(\)\n {2}line 2, in look/,
  );
  const straight = Array.from({ length: 60 }, (_, i) => `a${i} = brave.search("x")`).join('\n');
  assert.match(await failure(straight), /more than 50 calls[^]*line 51: a50 = /);
  const atOnce = 'n = 60\nparallel([("brave.search", {"query": "x"})] * n)';
  assert.match(await failure(atOnce), /more than 50 calls[^]*line 2: parallel/);
});

test('hostile programs end with a named error while another owner is served at once', async () => {
  const hostile: [string, RegExp][] = [
    ['while True: pass', /^TimeoutError: the program used more than 1\.5 s/],
    ['",".join(["a" * 10**6] * 10**5)', /^(?:MemoryError|TimeoutError)/],
    ['x = [0] * 10\nfor i in range(9): x = [x] * 10\nx', /^(?:MemoryError|TimeoutError)/],
    ['x = "a" * 10**9', /^MemoryError/],
    ['def f(n): return f(n + 1)\nf(0)', /^RecursionError/],
    ['while True: print("x" * 1000)', /^RuntimeError: the program printed more than 4 MiB/],
    [
      'while True:\n    try:\n        print("x")\n    except Exception:\n        pass',
      /^(?:TimeoutError|MemoryError|RuntimeError)/,
    ],
    ['x = []\nwhile True: x.append("y" * 1000)', /^MemoryError/],
    ['2 ** 10 ** 8', /^(?:MemoryError|TimeoutError|OverflowError|ValueError)/],
  ];
  const end = async ([code, expected]: [string, RegExp]): Promise<void> => {
    // What ends by itself has the time that it takes on a busy machine.
    const outcome = await (/Timeout/.test(expected.source) ? strict : engine).run({ code, owner: 'someone', world });
    assert.match(outcome.ok ? outcome.json : outcome.error.text, expected, code);
  };
  const ends = Promise.all(hostile.map(end));
  let isOver = false;
  let served = 0;
  const over = ends.finally(() => (isOver = true));
  while (!isOver) {
    for (const each of [strict, engine]) {
      const outcome = await each.run({ code: '1 + 1', owner: 'another', world });
      assert.equal(outcome.ok && outcome.json, '2');
    }
    if (!isOver) served++;
    await sleep(20);
  }
  await over;
  // Two endless programs alone keep the children of their owner busy for three seconds.
  assert.ok(served >= 3, `the other owner was served ${served} times meanwhile`);
});

test('a program that waits holds no child: more of them wait than there are children', async () => {
  waits.most = 0;
  const many = await Promise.all(
    Array.from({ length: 60 }, () => run('brave.wait(ms=20000, together=30)["args"]["ms"]')),
  );
  waits.together = Promise.withResolvers();
  assert.ok(many.every((outcome) => outcome.ok && outcome.json === '20000'));
  assert.ok(waits.most > 30, `${waits.most} waited at the same time`);
});

test('ends a program that takes too long in all, although it only waits', async () => {
  const limits = { timeoutMs: 30_000, totalMs: 1000, maxMemoryMb: 64, maxCalls: 50 };
  const hasty = openEngine({ childPath, limits: () => limits });
  try {
    const outcome = await hasty.run({ code: 'brave.wait(ms=600000)', owner: 'slow', world });
    assert.match(outcome.ok ? '' : outcome.error.text, /TimeoutError: .*more than 1 s in all, waiting included/);
    await until(() => waits.now === 0);
  } finally {
    hasty.close();
  }
});

test('stops when its caller goes away', async () => {
  for (const code of ['while True: pass', 'brave.wait(ms=60000)']) {
    const control = new AbortController();
    const running = engine.run({ code, owner: 'someone', world, signal: control.signal });
    setTimeout(() => control.abort(new Error('gone')), 50);
    await assert.rejects(running, /gone/);
  }
});
