import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from '../kit/fast-check.ts';
import { startTestServer, type TestServer } from '../kit/running-server.ts';
import type { Tally } from './run.ts';

export const about =
  'hostile programs and snippet values: each ends with a value or a named error, and others are served meanwhile';
export const full = 5000;

const answerWithinMs = 60_000;
const config = `
code: { timeoutMs: 1000, maxCalls: 30 }
aliases: { ws: demo.foo, loop1: loop2, loop2: loop1, gone: no.where }
snippets:
  say: { params: { text: {}, n: { type: int, default: 1 } }, body: '["{{ text }}"] * {{ n }}' }
  many: { params: { n: { type: int } }, body: '{% for i in range(n) %}print({{ i }}){% endfor %}' }
`;

export async function chaos(rounds: number): Promise<Tally> {
  const tally: Tally = { counted: { programs: 0, answered: 0, failed: 0, served: 0 }, violations: [] };
  const home = await mkdtemp(join(tmpdir(), 'oub-programs-'));
  await writeFile(join(home, 'config.yaml'), config);
  const server = await startTestServer({ home, args: ['--log', 'error'] });
  try {
    const other = await tokenOf(server);
    const programs = fc.sample(program, rounds);
    for (let at = 0; at < programs.length; at += 8) {
      await Promise.all(programs.slice(at, at + 8).map((code) => judge(server, code, tally)));
      const answer = await run(server, '1 + 1', other);
      if (answer.value === '2') tally.counted['served']!++;
      else tally.violations.push(`another token got ${JSON.stringify(answer).slice(0, 200)}`);
    }
  } finally {
    const code = await server.stop();
    if (code !== 0) tally.violations.push(`the server ended with ${code}: ${server.errors().slice(-500)}`);
    await rm(home, { recursive: true, force: true });
  }
  return tally;
}

interface Answer {
  ok?: boolean;
  value?: unknown;
  error?: { code: string; message: string };
}

async function judge(server: TestServer, code: string, tally: Tally): Promise<void> {
  tally.counted['programs']!++;
  const what = JSON.stringify(code).slice(0, 300);
  try {
    const { ok, error } = await run(server, code, server.token);
    if (ok) tally.counted['answered']!++;
    else if (
      error?.code === 'program.failed' &&
      /^\w+(?:Error|Exit|Exception|Interrupt|Iteration)?(?::|$|\n)/.test(error.message)
    )
      tally.counted['failed']!++;
    else tally.violations.push(`${what}: ${JSON.stringify(error)}`);
  } catch (error) {
    tally.violations.push(`${what}: ${String(error)}`);
  }
}

async function run(server: TestServer, code: string, token: string): Promise<Answer> {
  const response = await server.fetch('/call/run', {
    method: 'POST',
    json: { args: { code } },
    token,
    signal: AbortSignal.timeout(answerWithinMs),
  });
  if (response.status >= 500) throw new Error(`${response.status} ${await response.text()}`);
  return (await response.json()) as Answer;
}

async function tokenOf(server: TestServer): Promise<string> {
  const response = await server.fetch('/call/token_create', {
    method: 'POST',
    json: { args: { name: 'other', scope: 'read' } },
  });
  return ((await response.json()) as { value: { token: string } }).value.token;
}

const piece = fc.constantFrom(
  'x = 1',
  'x',
  'x + 1',
  'demo.foo(text="a")',
  'demo.foo(text=x)',
  'demo.foo(txt=1)',
  'demo.foo(**x)',
  'demo.foo(*x)',
  'ws("a")',
  'loop1()',
  'gone()',
  'ot.tools()',
  'ot.help(query=x)',
  'ot.result(handle=x)',
  'ot.result(handle="a", offset=-5)',
  'parallel(x)',
  'parallel([x, x])',
  'parallel([("demo.foo", {"text": "b"})] * 40)',
  'for i in range(10**9): pass',
  'while True: x = [x]',
  'x = "a" * 10**8',
  'x = [x] * 1000',
  'x = {"__monty_type__": "Dataclass"}',
  'x = {"__proto__": 1}',
  'print(x)',
  'print("y" * 10**7)',
  'def f(n): return f(n)',
  'f(1)',
  'return x',
  'raise ValueError(x)',
  'try:\n    x = 1 / 0\nexcept Exception as e:\n    x = str(e)',
  'import json',
  'import re',
  're.match("(a+)+$", "a" * 50 + "b")',
  'class A: pass',
  'yield 1',
  '@x',
  'lambda: x',
  'f"{x!r:>{x}}"',
  'f"{',
  '"""',
  "'",
  '$say text=x',
  '$say text="a\\"b" n=3',
  '$say n=x',
  '$many n=100000',
  '$many n=3',
  '$',
  '$nope a=b',
  '```',
  '__ot',
  '__format__ = "yaml"',
  '__format__ = x',
  'await x',
  'async def g(): return x',
  '2 ** 10 ** 7',
  'x[0]',
  'x.y.z()',
  'demo',
  'demo.foo',
  'ot.x()',
  'run(code="1")',
  'run(code="run(code=1)")',
  'run(code=x)',
  'sorted(x, key=demo.foo)',
  '[demo.foo(text=str(i)) for i in range(50)]',
  'del x',
  'global x',
  'x: int',
  ';',
  '\\',
  '\u0000',
  '\ud83d',
  'x\u2028y',
);
const program = fc
  .array(
    fc.oneof(
      { weight: 8, arbitrary: piece },
      { weight: 1, arbitrary: fc.string() },
      { weight: 1, arbitrary: piece.map((text) => `    ${text}`) },
    ),
    { minLength: 1, maxLength: 5 },
  )
  .map((parts) => parts.join('\n'));
