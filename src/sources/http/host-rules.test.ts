import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../../../test/kit/fast-check.ts';
import { hostRules, parseHostEntry } from './host-rules.ts';

const asks = (entries: string[], url: string): boolean => {
  const { hostname, port, protocol } = new URL(url);
  return hostRules(entries).mayAsk(hostname, Number(port) || (protocol === 'https:' ? 443 : 80));
};

test('an empty list allows nothing', () => {
  assert.equal(asks([], 'http://example.org/'), false);
  assert.equal(hostRules([]).mayDial('127.0.0.1', 'localhost', 80), false);
});

test('a host without port covers every port, a host with port only that one', () => {
  assert.equal(asks(['example.org'], 'http://example.org:8080/'), true);
  assert.equal(asks(['example.org:8080'], 'http://example.org:8080/'), true);
  assert.equal(asks(['example.org:8080'], 'http://example.org/'), false);
  assert.equal(asks(['example.org:80'], 'http://example.org/'), true);
  assert.equal(asks(['example.org:80'], 'https://example.org/'), false);
});

test('a wildcard covers every depth below, never the name itself, never a name that only ends alike', () => {
  const entries = ['*.example.org'];
  assert.equal(asks(entries, 'http://a.example.org/'), true);
  assert.equal(asks(entries, 'http://a.b.c.example.org/'), true);
  assert.equal(asks(entries, 'http://example.org/'), false);
  assert.equal(asks(entries, 'http://evilexample.org/'), false);
});

test('names are compared after IDNA, lower-casing and without the root dot', () => {
  assert.equal(asks(['Bücher.example'], 'http://xn--bcher-kva.example/'), true);
  assert.equal(asks(['xn--bcher-kva.example'], 'http://BÜCHER.example/'), true);
  assert.equal(asks(['example.org'], 'http://EXAMPLE.org./'), true);
  // Cyrillic letters that look like Latin ones are another name.
  assert.equal(asks(['example.org'], 'http://ехample.org/'), false);
});

test('every spelling of a loopback address is the same address', () => {
  const spellings = [
    'http://127.0.0.1/',
    'http://2130706433/',
    'http://0177.0.0.1/',
    'http://0x7f.1/',
    'http://127.1/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
  ];
  for (const url of spellings) {
    assert.equal(asks(['127.0.0.1'], url), true, url);
    assert.equal(asks(['example.org'], url), false, url);
    assert.equal(hostRules(['example.org']).mayDial(new URL(url).hostname, new URL(url).hostname, 80), false, url);
  }
});

test('a listed name may lead to public addresses only, unless the private one is listed too', () => {
  const rules = hostRules(['api.example.org', '10.1.0.0/16', '192.168.0.5:8080']);
  assert.equal(rules.mayDial('93.184.216.34', 'api.example.org', 443), true);
  assert.equal(rules.mayDial('10.1.2.3', 'api.example.org', 443), true);
  assert.equal(rules.mayDial('192.168.0.5', 'api.example.org', 8080), true);
  const forbidden = [
    '10.2.0.1',
    '127.0.0.1',
    '169.254.169.254',
    '192.168.0.5',
    '0.0.0.0',
    '::1',
    'fe80::1',
    'fd00::1',
    '::ffff:10.2.0.1',
    '64:ff9b::7f00:1',
    '::7f00:1',
    '2002:7f00:1::',
    '100.64.0.1',
    '224.0.0.1',
    'ff02::1',
    '::',
  ];
  for (const address of forbidden) assert.equal(rules.mayDial(address, 'api.example.org', 443), false, address);
});

test('localhost is an entry of its own and covers loopback addresses only', () => {
  const rules = hostRules(['localhost:4000']);
  assert.equal(rules.mayAsk('localhost', 4000), true);
  assert.equal(rules.mayAsk('127.0.0.1', 4000), false);
  assert.equal(rules.mayDial('127.0.0.1', 'localhost', 4000), true);
  assert.equal(rules.mayDial('::1', 'localhost', 4000), true);
  assert.equal(rules.mayDial('127.0.0.1', 'localhost', 4001), false);
  assert.equal(rules.mayDial('10.0.0.1', 'localhost', 4000), false);
  assert.equal(rules.mayDial('127.0.0.1', 'other', 4000), false);
});

test('a star alone means every public host and no private address', () => {
  const rules = hostRules(['*']);
  assert.equal(rules.mayAsk('anything.example', 443), true);
  assert.equal(rules.mayAsk('169.254.169.254', 80), false);
  assert.equal(rules.mayDial('10.0.0.1', 'anything.example', 443), false);
});

test('entries that are no hosts are none', () => {
  for (const entry of [
    '',
    ' ',
    'https://example.org',
    'a b',
    'user@example.org',
    '10.0.0.0/99',
    '*.*.org',
    'exa*mple.org',
    '*.127.0.0.1',
    'a/b',
  ])
    assert.equal(parseHostEntry(entry), undefined, entry);
});

test('an IPv4 address is private however it is wrapped', () => {
  const rules = hostRules(['*']);
  fc.assert(
    fc.property(
      fc.constantFrom([10, 0], [127, 0], [192, 168], [172, 20], [169, 254]),
      fc.nat(255),
      fc.nat(255),
      ([a, b], c, d) => {
        const plain = [a, b, c, d].join('.');
        const number = ((a! * 256 + b!) * 256 + c) * 256 + d;
        for (const host of [plain, String(number), `0x${number.toString(16)}`, `[::ffff:${plain}]`]) {
          const { hostname } = new URL(`http://${host}/`);
          assert.equal(rules.mayAsk(hostname, 80), false);
          assert.equal(rules.mayDial(hostname, hostname, 80), false);
        }
      },
    ),
  );
});
