import { after, test } from 'node:test';
import assert from 'node:assert/strict';
import fc from '../../test/kit/fast-check.ts';
import { openEngine } from './index.ts';
import { exampleInvocation, expandSnippets, parseInline, type Snippets } from './snippets.ts';

const snippets: Snippets = {
  say: { params: { text: {}, count: { type: 'int', default: 2 } }, body: '["{{ text }}", {{ count }}]' },
  triple: { params: { text: {} }, body: '"""{{ text }}"""' },
  single: { params: { text: {} }, body: "'{{ text }}' + f'{1}{{ text }}'" },
  raw: { params: { text: {} }, body: 'r"{{ text }}"' },
  formatted: { params: { text: {} }, body: 'f"{1}{{ text }}"' },
  inside: { params: { text: {} }, body: `f"{len('{{ text }}')}"` },
  after: { params: { text: {} }, body: '1 if"{{ text }}"else 2' },
  loop: { params: { n: { type: 'int' } }, body: '{% for i in range(n) %}\nprint({{ i }})\n{% endfor %}' },
  spin: {
    params: {},
    body: '{% set l = range(900) %}{% for a in l %}{% for b in l %}{% for c in l %}{% endfor %}{% endfor %}{% endfor %}',
  },
  grow: {
    params: {},
    body: '{% set ns = namespace(x="aaaaaaaaaa") %}{% for i in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}{{ ns.x }}',
  },
  choose: {
    params: { on: { type: 'bool', default: true }, many: { default: ['a', 1] } },
    body: '{% if on %}{{ many }}{% else %}None{% endif %}',
  },
};
const engine = openEngine({
  childPath: new URL('./child.ts', import.meta.url).pathname,
  limits: () => ({ timeoutMs: 30_000, maxMemoryMb: 64, maxCalls: 10 }),
});
after(() => engine.close());

const expanded = (code: string): string => expandSnippets(code, snippets).code.trimEnd();

async function value(code: string): Promise<unknown> {
  const outcome = await engine.run({
    code,
    owner: 'a',
    world: { snippets, call: () => Promise.reject(new Error('none')) },
  });
  if (!outcome.ok) throw new Error(outcome.error.text);
  return JSON.parse(outcome.json);
}

test('parameters come as key=value or as lines below', () => {
  assert.equal(expanded('$say text=hello'), '["hello", 2]');
  assert.equal(expanded('$say text="two words" count=7'), '["two words", 7]');
  assert.equal(expanded('$say text=two words count=7'), '["two words", 7]');
  assert.equal(expanded("$say text='it\\'s'"), '["it\'s", 2]');
  assert.equal(expanded('$say\ntext: a: b\ncount: 3\nx = 1'), '["a: b", 3]\nx = 1');
  assert.equal(expanded('$say text=a\nx: int = 5'), '["a", 2]\nx: int = 5');
  assert.equal(expanded('if True:\n    $say text=a'), 'if True:\n    ["a", 2]');
  assert.equal(expanded('$choose on=false'), 'None');
  assert.equal(expanded('$choose'), "['a', 1]");
});

test('what only looks like a snippet stays as it is', () => {
  for (const code of [
    'x = """\n$say text=a\n"""',
    "y = '$say'",
    '# $say text=a',
    'price = 5 # $5',
    "z = '''\n$say\n'''\nz",
  ])
    assert.equal(expanded(code), code);
});

test('lines map back to the own code', () => {
  const { lines } = expandSnippets('a = 1\n$loop n=3\nb = 2', snippets);
  assert.deepEqual(lines, [1, 2, 2, 2, 3]);
});

test('mistakes are named with their line', () => {
  for (const [code, message] of [
    ['x = 1\n$sya text=a', /There is no snippet \$sya\. Did you mean \$say\? Snippets: \$say, \$triple/],
    ['$say', /\$say needs text\. Write: \$say text=text/],
    ['$say txt=a', /\$say has no parameter 'txt'\. Did you mean 'text'\? Parameters: text/],
    ['$say zzzzz=a', /has no parameter 'zzzzz'\. Parameters: text/],
    ['$say text=a count=x', /count must be int, got 'x'/],
    ['$say words without key', /expected key=value/],
    ['$loop n=5000', /range\(\) over more than 1,000 items/],
    ['$spin', /more than 20000 steps/],
    ['$grow', /longer than|more than|Invalid string length/],
    ['$raw text="a\\nb"', /cannot stand in a raw string/],
    ['$inside text="a\'b"', /cannot stand in the braces of an f-string/],
  ] as const)
    assert.throws(() => expandSnippets(code, snippets), message, code);
});

test('a value can only ever be text inside the string it was placed in', async () => {
  const nasty = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.string(),
    fc.constantFrom(
      '"',
      "'",
      '\\',
      '\\"',
      '"""',
      "'''",
      '\n',
      '{{ x }}',
      '{% if %}',
      '{x}',
      '" + evil() + "',
      "\\' + evil() + '",
      '\\\\"',
      '\u2028',
      '\u0000',
      '\r',
      '#',
    ),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(nasty, { maxLength: 4 }), async (parts) => {
      // Quotes of a snippet know the escapes of line breaks, tabs, quotes and backslashes only.
      const text = parts
        .join('')
        .toWellFormed()
        .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u{F0000}-\u{10FFFF}]/gu, '');
      fc.pre(text.trim() !== '');
      assert.deepEqual(await value(`$say text=${JSON.stringify(text)}`), [text, 2]);
      assert.equal(await value(`$triple text=${JSON.stringify(text)}`), text);
      assert.equal(await value(`$formatted text=${JSON.stringify(text)}`), `1${text}`);
    }),
    { numRuns: 150 },
  );
});

test('a keyword before a string is no prefix of it', () => {
  assert.equal(expandSnippets('$after text="{x}"', snippets).code.trim(), '1 if"{x}"else 2');
});

test('inline values survive their own notation', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.stringMatching(/^[a-z]{1,6}$/), fc.stringMatching(/^[\w .,:;'"\\=-]{1,20}$/), { maxKeys: 4 }),
      (given) => {
        const text = Object.entries(given)
          .map(([key, each]) => `${key}=${JSON.stringify(each)}`)
          .join(' ');
        assert.deepEqual(Object.fromEntries(parseInline(text, 'x', 1)), { ...given });
      },
    ),
  );
});

test('an example names every parameter without default', () => {
  assert.equal(
    exampleInvocation('s', { params: { a: { example: 'two words' }, b: {}, c: null, d: { default: '' } }, body: '' }),
    '$s a="two words" b=b c=c',
  );
});
