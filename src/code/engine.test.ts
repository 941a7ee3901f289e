import { after, test } from 'node:test';
import assert from 'node:assert/strict';
import { braveWorld, childPath, endings } from './fixtures/brave-world.ts';
import { openEngine } from './index.ts';

const engine = openEngine({ childPath, limits: () => ({ timeoutMs: 30_000, maxMemoryMb: 64, maxCalls: 50 }) });
after(() => engine.close());

const { world, waits } = braveWorld();
const { run, value, failure } = endings(engine, world);

test('the last expression is the value', async () => {
  assert.equal(await value('x = 20\nx + 1'), 21);
  assert.equal(await value('x = 1; x'), 1);
});

test('floats look like floats', async () => {
  const json = async (code: string): Promise<string> => {
    const outcome = await run(code);
    return outcome.ok ? outcome.json : outcome.error.text;
  };
  assert.equal(await json('4 / 2'), '2.0');
  assert.equal(
    await json('[1, 1.0, 2.5, {"a Float(1)": 3.0, "b": 3}, (-0.5, 10.0), "Int(5)", 10**20, 1e300]'),
    '[1,1.0,2.5,{"a Float(1)":3.0,"b":3},[-0.5,10.0],"Int(5)",100000000000000000000,1e+300]',
  );
  assert.equal(await json('{1.0: 2}'), '{"1.0":2}');
  assert.equal(await json('brave.echo(value={1: 2})'), '{"1":2}');
  assert.equal(await json('[float("inf")]'), '[null]');
});

test('an answer that is no finite number does not look like None', async () => {
  assert.deepEqual(
    [await value('float("inf")'), await value('-float("inf")'), await value('float("nan")')],
    ['inf', '-inf', 'nan'],
  );
});

test('a program that ran before starts with empty variables, and fails as it did', async () => {
  const seen = 'try:\n    y = x\nexcept NameError:\n    y = "none"\nx = 1\nz = [y]\nz.append(x)\nz';
  for (let time = 0; time < 3; time++) {
    assert.deepEqual(await value(seen), ['none', 1]);
    assert.match(await failure('a = 1\nb = 1 / 0'), /^ZeroDivisionError: .*\n  line 2: /);
    assert.match(await failure('a = (1\nb'), /SyntaxError/);
  }
});

test('a top-level return is the value', async () => {
  assert.deepEqual(await value('if True:\n    return {"a": (1, 2)}\n5'), { a: [1, 2] });
});

test('tells no value from None', async () => {
  for (const code of ['x = 1', '', '# only a comment', 'if True: 5', 'def f(): pass', 'import json'])
    assert.deepEqual(await run(code), { ok: true, printed: '', hasValue: false, json: 'null' }, code);
  assert.deepEqual(await run('None'), { ok: true, printed: '', hasValue: true, json: 'null' });
});

test('collects what is printed', async () => {
  assert.deepEqual(await run('print("a", 1, sep="-")\nprint()\n2'), {
    ok: true,
    printed: 'a-1\n\n',
    hasValue: true,
    json: '2',
  });
});

test('reads __format__ at the top level', async () => {
  const outcome = await run('__format__ = "yaml"\n1');
  assert.equal(outcome.ok && outcome.format, 'yaml');
});

test('packs are names with attributes; keywords may be shortened, positions follow the schema', async () => {
  const expected = { tool: 'brave.search', args: { query: 'x', count: 3 } };
  for (const code of [
    'brave.search(query="x", count=3)',
    'brave.search(q="x", count=3)',
    'brave.search("x", 3)',
    'b.search("x", count=3)',
    'ws("x", 3)',
    'find = brave\nfind.search("x", 3)',
  ])
    assert.deepEqual(await value(code), expected, code);
});

test('functions can stand alone and be passed on', async () => {
  assert.deepEqual(await value('hello(who="a")'), { tool: 'hello', args: { who: 'a' } });
  assert.deepEqual(await value('f = hello\nf(who="b")'), { tool: 'hello', args: { who: 'b' } });
});

test('names what is wrong with a call before anything runs', async () => {
  const outcome = await run('print("ran")\nbrave.search(query="x")\nbrave.search(qury="y")');
  assert.equal(outcome.printed, '');
  assert.equal(
    outcome.ok ? '' : outcome.error.text,
    "TypeError: brave.search() got an unexpected keyword argument 'qury'. Did you mean 'query'?\n" +
      "Signature: brave.search(query: str, count: int = 5, country: str = '...')\n" +
      '  line 3: brave.search(qury="y")',
  );
  assert.match(
    await failure('brave.search("a", cou=1)'),
    /keyword 'cou' is ambiguous: it could be count or country\nSignature: /,
  );
  assert.match(await failure('brave.search()'), /missing 1 required argument: 'query'\nSignature/);
  assert.match(
    await failure('brave.mixed("what")'),
    /missing 1 required argument: 'query'\. Without a name, arguments are taken as repo, query: name them\nSignature: brave\.mixed\(query: str, repo: str = '\.\.\.'\)/,
  );
  assert.match(await failure('brave.search("a", query="b")'), /got multiple values for argument 'query'/);
  assert.match(await failure('brave.search(1, 2, 3, 4)'), /takes 3 positional arguments but 4 were given/);
  assert.match(
    await failure('brave.serch("a")'),
    /AttributeError: pack 'brave' has no function 'serch'. Did you mean brave.search\? Functions: brave.search, brave.wait, brave.echo/,
  );
  assert.match(await failure('brav.search("a")'), /there is no pack 'brav'. Did you mean 'brave'\? Packs: brave/);
  assert.match(await failure('ws(qqq=1)'), /brave.search\(\) got an unexpected keyword argument 'qqq'/);
});

test('a program can catch what it expects', async () => {
  assert.equal(
    await value('try:\n    brave.search("bad")\nexcept ValueError as e:\n    text = str(e)\ntext'),
    'a bad query',
  );
  assert.match(
    String(await value('try:\n    brave.search(zz=1)\nexcept TypeError as e:\n    text = str(e)\ntext')),
    /unexpected keyword argument 'zz'/,
  );
  assert.match(
    String(await value('try:\n    lost()\nexcept NameError as e:\n    text = str(e)\ntext')),
    /alias 'lost' means gone.away/,
  );
});

test('errors show the lines of the own code, also behind a snippet and a function defined further down', async () => {
  const text = await failure(
    '$find topic=x\ndef main():\n    return later()\ndef later():\n    return brave.search("bad")\nmain()',
  );
  assert.equal(
    text,
    'ValueError: a bad query\n  line 6: main()\n  line 3, in main: return later()\n  line 5, in later: return brave.search("bad")',
  );
});

test('functions may call functions and use values that are defined further down', async () => {
  assert.equal(await value('def a():\n    return b() + N\ndef b():\n    return 1\nN = 2\na()'), 3);
});

test('parallel answers in order and keeps failures as values', async () => {
  waits.most = 0;
  const answers = (await value(
    'parallel([("brave.wait", {"ms": 150}), ("ws", {"query": "bad"}), "hello", ("brave.wait", {"ms": 150}), ("no.such", {}), 7])',
  )) as Record<string, unknown>[];
  assert.equal(waits.most, 2, 'they ran one after the other');
  assert.deepEqual(answers[0], { tool: 'brave.wait', args: { ms: 150 } });
  assert.deepEqual(answers[1], { error: 'a bad query' });
  assert.deepEqual(answers[2], { tool: 'hello', args: {} });
  assert.match(String(answers[4]?.['error']), /there is no pack 'no'/);
  assert.match(String(answers[5]?.['error']), /parallel\(\) takes one list/);
  const [odd] = (await value('parallel([lambda: brave.search("x")])')) as Record<string, unknown>[];
  assert.match(String(odd?.['error']), /parallel\(\) takes one list of calls.*got "<function/);
});

test('foreign values stay values, whatever their keys', async () => {
  const odd = '{"__monty_type__": "Dataclass", "__proto__": {"a": 1}, "typeId": 5}';
  assert.deepEqual(await value(`brave.echo(value=${odd})`), JSON.parse(odd));
  assert.match(await failure('brave.echo(**{"__proto__": {"a": 1}})'), /unexpected keyword argument '__proto__'/);
});

test('says what to write instead of Python that is not there', async () => {
  const cases: [string, RegExp][] = [
    ['class A: pass', /class definitions\nHint: Use dicts and functions/],
    ['match 1:\n    case 1: pass', /Hint: Use if \/ elif/],
    ['def g():\n    yield 1', /Hint: Build a list/],
    ['"{}".format(1)', /Hint: Use an f-string/],
    ['"%d" % 1', /Hint: Use an f-string/],
    [
      'import itertools',
      /Hint: Use loops and comprehensions[\s\S]*Modules that can be imported: asyncio, datetime, json/,
    ],
    ['json.dumps(1)', /write 'import json' first/],
    ['d = {}\ndel d["a"]', /Hint: Use items.pop/],
    ['@wrap\ndef f(): pass', /decorators are not supported/],
    ['1\n__format__ = "xml"\n2', /ValueError: __format__ must be written out as "json" or "yaml".*line 2/s],
    ['word = "json"\n__format__ = word', /__format__ must be written out/],
    ['__format__ = "json" + "yaml"', /__format__ must be written out/],
    ['open("/etc/passwd").read()', /PermissionError[\s\S]*no file access/],
    ['eval("1")', /programs cannot run text as code/],
    ['await brave.search("x")', /Tool calls need no await/],
    ['import datetime\ndatetime.datetime.now()', /There is no clock here/],
    [
      'try:\n    raise KeyError("k")\nexcept KeyError:\n    raise ValueError("a", 5)',
      /^RuntimeError: exceptions can only be called with[^\n]*\nHint: Give an exception one text[^\n]*\n  line 4: raise ValueError/,
    ],
    ['[*range(3)]', /Hint: Make a list of it first/],
    ['f"{1234567:,}"', /Hint: Leave , and _ out of the format/],
    ['sum([x > 1 for x in [1, 2]])', /Hint: Make a number of it first/],
    ['{"a": 1} | {"b": 2}', /Hint: Put dicts together like this/],
    ['sorted([[2], [1]])', /Hint: Compare tuples/],
    ['x = [1, 2]\nx[0:1] = [3]', /Hint: Put the pieces together/],
    ['x = [1, 2]\nx[0], x[1] = x[1], x[0]', /Hint: Take the values into names first/],
    ['sorted(["b", "A"], key=str.lower)', /Hint: Use a lambda: lambda value: value\.lower\(\)/],
    ['list(iter([1]))', /Hint: Keep a list/],
    ['import re\nre.sub("a", lambda m: "b", "a")', /Hint: Go through re.findall/],
    ['import sys\nsys.exit(1)', /Hint: Use return to end a program/],
    ['x = $say', /Hint: A snippet stands at the start of a line/],
    ['import brave\nbrave.search("x")', /Hint: If brave is a pack, leave the import out/],
    ['for i, x in enumerate(["a"], start=1): print(i)', /Hint: Give it by its place: enumerate\(items, 1\)/],
    ['int("ff", 16)', /Hint: Only decimal digits are read/],
    ['import json\njson.dumps({}, default=str)', /Hint: Make text of such values first/],
    ['import sys\nprint("x", file=sys.stderr)', /Hint: Leave file out/],
    ['a, *b = range(3)', /Hint: Make a list of it first/],
    ['import asyncio\nasyncio.run(asyncio.gather(brave.search("x")))', /Hint: Tool calls need no await\. Many at once/],
    ['counts = {"a": 1}\nmax(counts, key=counts.get)', /Hint: A method can only be called/],
    ['import os\nos.path.join("a", "b")', /Hint: Use pathlib/],
    ['import re\nre.VERBOSE', /Hint: Only a part of each module is here/],
    ['import datetime\ndatetime.datetime.fromtimestamp(0)', /Hint: Write datetime\(1970, 1, 1\)/],
    ['callable(len)', /name 'callable' is not defined: what can be called is known/],
    ['import traceback', /Hint: The text of a failure is enough/],
    ['brave_search(query="x")', /name 'brave_search' is not defined\. Did you mean 'brave\.search'\?/],
  ];
  for (const [code, expected] of cases) assert.match(await failure(code), expected, code);
  assert.doesNotMatch(await failure('x = "text"\nx.get("a")'), /Hint/, 'a text has no such method');
});

test('a program may ask whether it is the main one', async () => {
  assert.deepEqual(await value('def main():\n    return 5\nx = 0\nif __name__ == "__main__":\n    x = main()\nx'), 5);
  assert.deepEqual(await value('def f():\n    a = 1\n    return [__name__, a]\nf()'), ['__main__', 1]);
});

test('times and their differences are answered as Python writes them', async () => {
  const code = `from datetime import timedelta, timezone
[timedelta(days=1, hours=3), timedelta(days=-2, seconds=61), timedelta(microseconds=5), timezone.utc, timezone(timedelta(hours=-2))]`;
  assert.deepEqual(await value(code), ['1 day, 3:00:00', '-2 days, 0:01:01', '0:00:00.000005', 'UTC', 'UTC-02:00']);
});

test('a name that nobody knows is told by its name where sorted or map meet it', async () => {
  const missed = /^NameError: name 'kye' is not defined[^]*\n  line 2: /;
  assert.match(await failure('rows = [{"a": 1}]\nsorted(rows, key=lambda r: r[kye])'), missed);
  assert.match(await failure('rows = [1]\nlist(map(lambda r: kye(r), rows))'), missed);
  assert.match(
    await failure('sorted(["a"], key=lambda r: brave.search(r))'),
    /^NotImplementedError: [^]*Hint: Call tools in a loop/,
  );
});

test('checks a program without running it', async () => {
  assert.equal(await engine.check('x = city + "!"\nx', { inputs: ['city'], owner: 'a', world }), undefined);
  assert.match((await engine.check('x = (', { owner: 'a' }))!.text, /SyntaxError/);
  assert.match((await engine.check('brave.nope()', { owner: 'a', world }))!.text, /has no function 'nope'/);
});
