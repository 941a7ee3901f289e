import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FirstCall } from './first-call.ts';

const call = { pack: 'p', name: 'f', args: '[]', kwargs: '{"x":1}' };

test('a first call is expected when it was seen twice with the same meaning of names', () => {
  const first = new FirstCall();
  first.seen(call, 'p;');
  assert.equal(first.expected('p;'), undefined);
  first.seen({ ...call }, 'p;');
  assert.deepEqual(first.expected('p;'), call);
  assert.equal(first.expected('p,q;'), undefined);
});

test('another call, another meaning or a miss begins anew or ends it', () => {
  const first = new FirstCall();
  first.seen(call, 'p;');
  first.seen({ ...call, kwargs: '{"x":2}' }, 'p;');
  assert.equal(first.expected('p;'), undefined);
  first.seen({ ...call, kwargs: '{"x":2}' }, 'p,q;');
  assert.equal(first.expected('p,q;'), undefined);
  first.seen({ ...call, kwargs: '{"x":2}' }, 'p,q;');
  assert.ok(first.expected('p,q;'));
  first.missed();
  for (let time = 0; time < 3; time++) first.seen(call, 'p;');
  assert.equal(first.expected('p;'), undefined);
});

test('a call with very long arguments is not kept', () => {
  const first = new FirstCall();
  for (let time = 0; time < 3; time++) first.seen({ ...call, args: `["${'x'.repeat(9_000)}"]` }, 'p;');
  assert.equal(first.expected('p;'), undefined);
});
