import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../../test/kit/fast-check.ts';
import { parseExactly } from '../schema/index.ts';
import { redactor, secretForms, type Redactor } from './redactor.ts';
import { patient } from '../../test/kit/patience.ts';

const over = (...values: string[]): Redactor =>
  redactor({ version: () => 1, all: () => values.map((value, index) => ({ name: `S${index}`, value })) });

const secretText = fc
  .string({ minLength: 8, maxLength: 40, unit: 'grapheme' })
  .filter((each) => each.trim().length >= 8 && !each.includes('[secret'));

test('a secret is hidden as it is, in hex, in URLs, in forms and in JSON text', () => {
  fc.assert(
    fc.property(secretText, fc.string({ maxLength: 20 }), fc.string({ maxLength: 20 }), (value, before, after) => {
      const hide = over(value);
      const bytes = Buffer.from(value);
      const written = [
        value,
        bytes.toString('hex'),
        bytes.toString('hex').toUpperCase(),
        encodeURIComponent(value),
        new URLSearchParams({ a: value }).toString(),
        JSON.stringify(value),
        JSON.stringify(JSON.stringify(value)),
      ];
      for (const text of written) assert.match(hide.text(before + text + after), /\[secret:S0\]/);
    }),
  );
});

test('a secret inside base64 is hidden wherever it starts', () => {
  fc.assert(
    fc.property(
      secretText,
      fc.uint8Array({ maxLength: 9 }),
      fc.uint8Array({ maxLength: 9 }),
      (value, before, after) => {
        const all = Buffer.concat([before, Buffer.from(value), after]);
        for (const encoding of ['base64', 'base64url'] as const)
          assert.match(over(value).text(all.toString(encoding)), /\[secret:S0\]/);
      },
    ),
  );
});

test('a text that comes in pieces is redacted as if it came whole', () => {
  fc.assert(
    fc.property(
      fc.array(secretText, { minLength: 1, maxLength: 3 }),
      fc.array(fc.oneof(fc.string(), fc.nat(2)), { maxLength: 12 }),
      fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
      (values, parts, cuts) => {
        const text = parts
          .map((part) => (typeof part === 'number' ? (values[part % values.length] as string) : part))
          .join('');
        const hide = over(...values);
        const stream = hide.stream();
        let out = '';
        for (let at = 0, turn = 0; at < text.length; turn++) {
          const size = cuts[turn % cuts.length] as number;
          out += stream.push(text.slice(at, at + size));
          at += size;
        }
        assert.equal(out + stream.end(), hide.text(text));
      },
    ),
  );
});

test('values and keys are redacted deep inside, and what holds no secret stays the same object', () => {
  const hide = over('s3cr3t-value');
  assert.deepEqual(hide.value({ a: ['x s3cr3t-value y', 1, null], 's3cr3t-value': true }), {
    a: ['x [secret:S0] y', 1, null],
    '[secret:S0]': true,
  });
  assert.deepEqual(hide.value([{ 's3cr3t-value': 1 }]), [{ '[secret:S0]': 1 }], 'a key alone');
  assert.deepEqual(hide.value({ a: { b: 's3cr3t-value' } }), { a: { b: '[secret:S0]' } }, 'a value alone');
  const plain = { a: [{ b: 'nothing here' }] };
  assert.equal(hide.value(plain), plain);
});

test('a replaced or removed secret stays hidden, an added token is hidden at once', () => {
  let version = 1;
  let all = [{ name: 'A', value: 'first-value' }];
  const hide = redactor({ version: () => version, all: () => all });
  assert.equal(hide.text('first-value'), '[secret:A]');
  all = [{ name: 'A', value: 'second-value' }];
  version++;
  assert.equal(hide.text('first-value second-value'), '[secret:A] [secret:A]');
  hide.add('oauth token', 'access-token-1');
  assert.equal(hide.text('Bearer access-token-1'), 'Bearer [secret:oauth token]');
});

test('of a secret that is replaced again and again the last values stay hidden, and no more are kept', () => {
  let version = 0;
  const valueOf = (number: number): string => `refresh-${number}-token`;
  const hide = redactor({ version: () => version, all: () => [{ name: 'R', value: valueOf(version) }] });
  for (version = 1; version < 400; version++) hide.text('');
  assert.equal(hide.text(valueOf(400)), '[secret:R]');
  assert.equal(hide.text(valueOf(200)), '[secret:R]');
  assert.equal(hide.text(valueOf(100)), valueOf(100));
});

test('the longer of two secrets wins where one starts the other', () => {
  assert.equal(over('password', 'password-long').text('password-long password'), '[secret:S1] [secret:S0]');
});

test('a hundred secrets do not make a large text slow', () => {
  const hide = over(...Array.from({ length: 100 }, (_, index) => `secret-number-${index}-abcdef`));
  const text = 'The quick brown fox jumps over the lazy dog. '.repeat(20_000);
  const started = performance.now();
  assert.equal(hide.text(text), text);
  assert.ok(performance.now() - started < patient(2_000), `${performance.now() - started} ms`);
  assert.ok(secretForms('secret-number-1-abcdef').length > 5);
});

test('a secret that is split over several items of a stream is hidden, and only what could be its start waits', () => {
  fc.assert(
    fc.property(
      secretText,
      fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 6 }),
      fc.boolean(),
      (secret, cuts, isWrapped) => {
        const items = over(secret).items();
        const text = `first ${secret} last`;
        const shown: unknown[] = [];
        let sent = 0;
        for (let at = 0, turn = 0; at < text.length; turn++) {
          const part = text.slice(at, (at += cuts[turn % cuts.length]!));
          sent++;
          shown.push(...items.push(isWrapped ? { delta: [{ content: part }] } : part).map(({ value }) => value));
        }
        shown.push(...items.end().map(({ value }) => value));
        const said = shown
          .map((each) => (isWrapped ? (each as { delta: { content: string }[] }).delta[0]!.content : each))
          .join('');
        assert.equal(shown.length, sent);
        if (secret.isWellFormed()) assert.equal(said, over(secret).text(text));
      },
    ),
  );
  const items = over('s3cr3t-value').items();
  assert.deepEqual(items.push({ t: 'a s3cr' }), []);
  assert.deepEqual(
    items.push({ t: 'et again' }).map(({ value }) => value),
    [{ t: 'a s3cr' }, { t: 'et again' }],
  );
  assert.deepEqual(
    items.push({ n: 1 }).map(({ isChanged }) => isChanged),
    [false],
  );
});

test('an end that never goes on holds up no more than a few items', () => {
  const items = over('s3cr3t-value').items();
  items.push({ id: 's3cr' });
  const shown = Array.from({ length: 20 }, (_, n) => items.push({ n })).flat();
  assert.ok(shown.length >= 12, `${shown.length} shown`);
});

test('a secret inside bytes is overwritten in place', () => {
  const hide = over('s3cr3t-välue');
  const bytes = Buffer.concat([
    Buffer.from([0x89, 0x50, 0, 0xff]),
    Buffer.from('s3cr3t-välue'),
    Buffer.from([0xfe]),
    Buffer.from('s3cr3t-välue', 'utf16le'),
    Buffer.from(Buffer.from('s3cr3t-välue').toString('base64')),
  ]);
  const clean = hide.bytes(bytes);
  assert.equal(clean.length, bytes.length);
  assert.deepEqual(clean.subarray(0, 4), bytes.subarray(0, 4));
  for (const form of ['s3cr', Buffer.from('s3cr', 'utf16le').toString('latin1'), 'czNjcjN0'])
    assert.ok(!clean.toString('latin1').includes(form), form);
  const plain = Buffer.from([1, 2, 3]);
  assert.equal(hide.bytes(plain), plain);
});

test('digits that are a secret are hidden in an integer too; other long integers stay as they are', () => {
  const value = parseExactly('{"a":[12345678901234567890,{"b":98765432109876543210}]}');
  const hidden = over('98765432109876543210').value(value);
  assert.equal(JSON.stringify(hidden), '{"a":[12345678901234567890,{"b":"[secret:S0]"}]}');
  assert.equal(over('something else').value(value), value);
});
