import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Actor, CallOptions, ToolView } from '../schema/index.ts';
import { Deadline } from './deadline.ts';
import { RunningCall, type CallPower } from './running-call.ts';

const actor: Actor = { kind: 'token', door: 'rest', principal: 'prn_me', level: 'read' };
const tool = { name: 'demo_foo' } as ToolView;
const silent = { debug() {}, info() {}, warn() {}, error() {} };
const power: CallPower = {
  call: async () => assert.fail('nothing is called'),
  list: async () => [],
  log: silent,
  redact: { text: (text) => text, value: (value) => value },
};

test('what a tool tells after its call was answered reaches nobody', () => {
  const told: unknown[] = [];
  const options: CallOptions = { onProgress: (each) => told.push(each), onLog: ({ data }) => told.push(data) };
  const deadline = new Deadline(tool.name, 60_000, undefined);
  const call = new RunningCall(power, actor, tool, 'req_1', options, deadline);
  const tellAll = (): void => {
    call.progress({ progress: 1 });
    call.log('info', 'here');
    call.relayLog({ level: 'info', data: 'there' });
  };
  tellAll();
  deadline.end();
  tellAll();
  assert.deepEqual(told, [{ progress: 1 }, 'here', 'there']);
});
