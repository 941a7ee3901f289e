import { namespaceFlags, refused, unknown } from '../system-calls.ts';

/**
 * A system call filter as the kernel takes it (classic BPF): everything is allowed but what sandboxes escape
 * through. bubblewrap brings no filter of its own; engines do.
 */

/** Which number of each call below is meant: processors count them differently. */
const columnOf: Partial<Record<string, 0 | 1>> = { x64: 0, arm64: 1 };
const clone = [56, 220] as const;
const ioctl = [16, 29] as const;
const socket = [41, 198] as const;

const pushTerminalInput = 0x5412;
const terminalSelection = 0x541c;
/** Unix, IPv4, IPv6, and netlink, which listing one's own interfaces needs. */
const socketFamilies = [1, 2, 10, 16];

const loadWord = 0x20;
const jumpEqual = 0x15;
const jumpAtLeast = 0x35;
const jumpAnyBit = 0x45;
const giveBack = 0x06;
const allow = 0x7fff_0000;
const kill = 0x8000_0000;
const errno = (code: number): number => 0x0005_0000 | code;
const notPermitted = errno(1);
const noSuchCall = errno(38);
const noSuchFamily = errno(97);
const offsetOf = { call: 0, architecture: 4, firstArgument: 16, secondArgument: 24 };

/** The filter for this machine's processor; undefined where we have no table of its calls. */
export function seccompFilter(architecture: string = process.arch): Buffer | undefined {
  const column = columnOf[architecture];
  if (column === undefined) return undefined;
  const program: [code: number, whenTrue: number, whenFalse: number, value: number][] = [];
  const load = (offset: number): void => void program.push([loadWord, 0, 0, offset]);
  const answer = (value: number): void => void program.push([giveBack, 0, 0, value]);
  const answerIf = (test: number, operand: number, value: number): void => {
    program.push([test, 0, 1, operand]);
    answer(value);
  };

  load(offsetOf.architecture);
  program.push([jumpEqual, 1, 0, column === 0 ? 0xc000_003e : 0xc000_00b7]);
  answer(kill);
  load(offsetOf.call);
  // The x32 calls have numbers of their own, beyond this bit.
  if (column === 0) answerIf(jumpAtLeast, 0x4000_0000, noSuchCall);
  for (const numbers of Object.values(refused)) {
    const number = numbers[column];
    if (number !== null && number !== undefined) answerIf(jumpEqual, number, notPermitted);
  }
  for (const numbers of Object.values(unknown)) answerIf(jumpEqual, numbers[column]!, noSuchCall);

  program.push([jumpEqual, 0, 4, clone[column]!]);
  load(offsetOf.firstArgument);
  answerIf(jumpAnyBit, namespaceFlags, notPermitted);
  answer(allow);

  program.push([jumpEqual, 0, 6, ioctl[column]!]);
  load(offsetOf.secondArgument);
  answerIf(jumpEqual, pushTerminalInput, notPermitted);
  answerIf(jumpEqual, terminalSelection, notPermitted);
  answer(allow);

  program.push([jumpEqual, 0, 2 + 2 * socketFamilies.length, socket[column]!]);
  load(offsetOf.firstArgument);
  for (const family of socketFamilies) answerIf(jumpEqual, family, allow);
  answer(noSuchFamily);
  answer(allow);

  const bytes = Buffer.alloc(program.length * 8);
  program.forEach(([code, whenTrue, whenFalse, value], index) => {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(whenTrue, index * 8 + 2);
    bytes.writeUInt8(whenFalse, index * 8 + 3);
    bytes.writeUInt32LE(value >>> 0, index * 8 + 4);
  });
  return bytes;
}
