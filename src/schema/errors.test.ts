import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { asFailure, catalogue, fail, type ErrorCode } from './errors.ts';
import { sentences } from './error-texts.ts';

const documented = new Map(
  [
    ...readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8').matchAll(
      /^\| `([\w.]+)` \| (\d+) \| (yes|no) \| (.+) \|$/gm,
    ),
  ].map(([, code, http, retryable]) => [code, { http: Number(http), retryable: retryable === 'yes' }]),
);

test('every code of the catalogue is documented with its status, and nothing else is', () => {
  const codes = Object.entries(catalogue).map(([code, { http, retryable }]) => [code, { http, retryable }]);
  assert.ok(documented.size > 50, 'the table was read');
  assert.deepEqual(Object.fromEntries(documented), Object.fromEntries(codes));
});

test('every code has its sentence', () => {
  assert.deepEqual(Object.keys(sentences).sort(), Object.keys(catalogue).sort());
});

test('what is not there, or over a limit, says in a second sentence where to look or what to do', () => {
  const short = Object.entries(sentences)
    .filter(([code]) => /^limit\.|\.not_found$|too_large$/.test(code))
    // Those who ask for a tool get their own advice: the command line names the nearest, code mode the pack's functions.
    .filter(([code, text]) => code !== 'tool.not_found' && !/\. \S.*[.{}]$|: \{reason\}$/.test(text));
  assert.deepEqual(short, []);
});

test('codes and statuses that others rely on never change', () => {
  const pins: Partial<Record<ErrorCode, number>> = {
    'request.invalid': 400,
    'args.invalid': 400,
    'page_token.invalid': 400,
    'function.unknown': 400,
    'type.unsupported': 400,
    'host.not_allowed': 400,
    'auth.required': 401,
    'auth.invalid': 401,
    'scope.denied': 403,
    'builtin.read_only': 403,
    'bundle.managed': 403,
    'origin.refused': 403,
    'tool.not_found': 404,
    'bundle.exists': 409,
    'name.taken': 409,
    'tool.exists': 409,
    'bundle.not_empty': 409,
    'bundle.disabled': 409,
    'tool.disabled': 409,
    'project.exists': 409,
    'tool.corrupt': 409,
    'ask.closed': 409,
    'session.busy': 409,
    'body.too_large': 413,
    'rate.limited': 429,
    'limit.sessions': 429,
    'tool.failed': 200,
    'tool.timeout': 200,
    'source.unreachable': 200,
    'secret.missing': 200,
    'output.invalid': 200,
    'response.too_large': 200,
  };
  for (const [code, http] of Object.entries(pins)) assert.equal(catalogue[code as ErrorCode].http, http, code);
});

test('a sentence is filled with the values it speaks about', () => {
  assert.equal(fail('tool.not_found', { ref: 'demo_fooo' }).message, 'There is no tool demo_fooo.');
  assert.equal(fail('tool.not_found', { message: 'Exactly this.' }).message, 'Exactly this.');
});

test('what is told of half a character can be read by everyone', () => {
  const half = '😀'.slice(0, 1);
  const failure = fail(
    'args.invalid',
    { reason: half },
    { details: [{ path: `/args/${half}`, message: `not ${half}` }] },
  );
  assert.match(failure.message, /\ufffd$/);
  assert.deepEqual(failure.details, [{ path: '/args/\ufffd', message: 'not \ufffd' }]);
});

test('what is not ours becomes an internal failure that keeps its cause to itself', () => {
  const cause = new Error('secret detail');
  const failure = asFailure(cause);
  assert.equal(failure.code, 'server.internal');
  assert.equal(failure.cause, cause);
  assert.doesNotMatch(failure.message, /secret detail/);
});

test('a full disk has a name, whoever noticed it', () => {
  for (const error of [
    Object.assign(new Error('no space left on device'), { code: 'ENOSPC' }),
    Object.assign(new Error('quota exceeded'), { code: 'EDQUOT' }),
    Object.assign(new Error('database or disk is full'), { code: 'ERR_SQLITE_ERROR', errcode: 13 }),
  ]) {
    const failure = asFailure(error);
    assert.equal(failure.code, 'limit.storage');
    assert.match(failure.message, /disk .* is full/);
    assert.equal(failure.cause, error);
  }
  assert.equal(asFailure(undefined).code, 'server.internal');
});
