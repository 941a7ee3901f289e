import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallerTool, Failure } from '../schema/index.ts';
import { declarationOf, type CallerArgs } from './caller-declaration.ts';

const declare = (given: CallerArgs, context?: CallerArgs) => declarationOf(given, context, 60_000);
const tools = (...names: string[]): CallerTool[] => names.map((name) => ({ name }));
const refused = (given: CallerArgs, path: string, reason: RegExp): void =>
  assert.throws(
    () => declare(given),
    (error: Failure) =>
      error.code === 'request.invalid' && error.details[0]?.path === `/args/${path}` && reason.test(error.message),
    JSON.stringify(given).slice(0, 200),
  );

test('what a message says of its caller is filled up with what it leaves out', () => {
  assert.equal(declare({}), undefined);
  assert.equal(declare({ caller_id: null, caller_tools: null, timeout_ms: null }), undefined);
  assert.deepEqual(declare({ caller_id: 'ant' }), {
    caller_id: 'ant',
    caller_tools: [],
    on_disconnect: 'fail',
    timeout_ms: 60_000,
    inherit: false,
  });
  const whole = {
    caller_id: 'ant',
    caller_tools: [{ name: 'send', description: 'd', inputSchema: { type: 'object' } }],
    on_disconnect: 'wait',
    timeout_ms: 5,
    inherit: true,
  } as const;
  assert.deepEqual(declare({ ...whole, caller_tools: [...whole.caller_tools] }), whole);
  assert.deepEqual(
    declare({ caller_id: 'top', timeout_ms: 7 }, { caller_id: 'ant', caller_tools: tools('a') })?.caller_id,
    'ant',
    'the context wins',
  );
  assert.equal(declare({ timeout_ms: 7 }, { caller_id: 'ant', timeout_ms: null })?.timeout_ms, 7);
});

test('names that could not be registered, or would hide others, are refused', () => {
  refused({ caller_tools: tools('a') }, 'caller_id', /need a caller_id/);
  for (const caller_id of ['', 'a b', 'a.b', 'ä', 'a'.repeat(65)])
    refused({ caller_id }, 'caller_id', /letters, digits/);
  for (const caller_id of ['oubliette', 'oubliette_x']) refused({ caller_id }, 'caller_id', /the server's own/);
  assert.ok(declare({ caller_id: 'oubliettes' }));
  for (const name of ['', 'a b', 'a/b', 'a'.repeat(65)])
    refused({ caller_id: 'ant', caller_tools: tools('fine', name) }, 'caller_tools/1', /is no tool name/);
  refused({ caller_id: 'a'.repeat(64), caller_tools: tools('b'.repeat(64)) }, 'caller_tools/0', /longer than 128/);
  assert.ok(declare({ caller_id: 'a'.repeat(64), caller_tools: tools('b'.repeat(63)) }));
  for (const [caller_id, name] of [
    ['session', 'message'],
    ['session', 'events'],
  ] as const)
    refused({ caller_id, caller_tools: tools(name) }, 'caller_tools/0', /would hide a tool of the server/);
  refused({ caller_id: 'ant', caller_tools: tools('a', 'b', 'a') }, 'caller_tools/2', /declared twice/);
});

test('schemas that cannot be used, or are of no object, are refused', () => {
  const of = (inputSchema: object): CallerArgs => ({ caller_id: 'ant', caller_tools: [{ name: 'a', inputSchema }] });
  refused(of({ type: 'nonsense' }), 'caller_tools/0/inputSchema', /schema of a cannot be used/);
  for (const type of ['string', ['array', 'null']])
    refused(of({ type }), 'caller_tools/0/inputSchema', /must be of type object/);
  for (const schema of [{}, { type: 'object' }, { type: ['object', 'null'] }]) assert.ok(declare(of(schema)));
});
