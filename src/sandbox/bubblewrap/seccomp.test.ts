import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seccompFilter } from './seccomp.ts';

/** Runs a filter as the kernel would, on one system call. */
function judge(filter: Buffer, call: { number: number; architecture: number; args?: number[] }): number {
  const words = new Map([
    [0, call.number],
    [4, call.architecture],
    [16, call.args?.[0] ?? 0],
    [24, call.args?.[1] ?? 0],
  ]);
  let accumulator = 0;
  for (let at = 0; at < filter.length / 8; at++) {
    const [code, whenTrue, whenFalse, value] = [
      filter.readUInt16LE(at * 8),
      filter[at * 8 + 2]!,
      filter[at * 8 + 3]!,
      filter.readUInt32LE(at * 8 + 4),
    ];
    if (code === 0x20) accumulator = words.get(value)!;
    else if (code === 0x06) return value;
    else at += holds(code, accumulator, value) ? whenTrue : whenFalse;
  }
  throw new Error('the filter ends without an answer');
}

function holds(code: number, accumulator: number, value: number): boolean {
  if (code === 0x15) return accumulator === value;
  if (code === 0x35) return accumulator >= value;
  return (accumulator & value) >>> 0 !== 0;
}

const allow = 0x7fff0000;
const machines = {
  x64: { architecture: 0xc000003e, read: 0, mount: 165, unshare: 272, clone: 56, clone3: 435, socket: 41, ioctl: 16 },
  arm64: {
    architecture: 0xc00000b7,
    read: 63,
    mount: 40,
    unshare: 97,
    clone: 220,
    clone3: 435,
    socket: 198,
    ioctl: 29,
  },
};

for (const [name, machine] of Object.entries(machines))
  test(`on ${name} ordinary calls pass and ways out do not`, () => {
    const filter = seccompFilter(name)!;
    const on = (number: number, ...args: number[]): number =>
      judge(filter, { number, architecture: machine.architecture, args });
    assert.equal(on(machine.read), allow);
    assert.equal(on(machine.mount), 0x50001);
    assert.equal(on(machine.unshare), 0x50001);
    assert.equal(on(machine.clone3), 0x50026);
    assert.equal(on(machine.clone, 0x01200011), allow);
    assert.equal(on(machine.clone, 0x10000000), 0x50001);
    assert.equal(on(machine.clone, 0x00020000), 0x50001);
    assert.equal(on(machine.ioctl, 0, 0x5401), allow);
    assert.equal(on(machine.ioctl, 0, 0x5412), 0x50001);
    for (const family of [1, 2, 10, 16]) assert.equal(on(machine.socket, family), allow);
    for (const family of [17, 38, 40]) assert.equal(on(machine.socket, family), 0x50061);
    assert.equal(judge(filter, { number: machine.read, architecture: 0x40000003 }), 0x80000000);
  });

test('the second set of numbers that x64 has is refused, and an unknown processor gets no filter', () => {
  assert.equal(
    judge(seccompFilter('x64')!, { number: 0x40000000 + 165, architecture: machines.x64.architecture }),
    0x50026,
  );
  assert.equal(seccompFilter('riscv64'), undefined);
});
