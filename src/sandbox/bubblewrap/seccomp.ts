/**
 * A system call filter as the kernel takes it (classic BPF): everything is allowed but what sandboxes escape
 * through. bubblewrap brings no filter of its own; engines do.
 */

/** Call numbers: [x64, arm64]; null where the architecture has no such call. */
const refused: Record<string, [number | null, number | null]> = {
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  kcmp: [312, 272],
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  unshare: [272, 97],
  setns: [308, 268],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  reboot: [169, 142],
  swapon: [167, 224],
  swapoff: [168, 225],
  acct: [163, 89],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  clock_adjtime: [305, 266],
  adjtimex: [159, 171],
  sethostname: [170, 161],
  setdomainname: [171, 162],
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  lookup_dcookie: [212, 18],
  vhangup: [153, 58],
  syslog: [103, 116],
  iopl: [172, null],
  ioperm: [173, null],
  modify_ldt: [154, null],
  uselib: [134, null],
  personality: [135, 92],
  mbind: [237, 235],
  set_mempolicy: [238, 237],
  migrate_pages: [256, 238],
  move_pages: [279, 239],
  mknodat: [259, 33],
  mknod: [133, null],
};
/** Answered as "no such call", so that callers fall back to what the filter can look into. */
const unknown: Record<string, [number, number]> = {
  clone3: [435, 435],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
};
const clone = [56, 220] as const;
const ioctl = [16, 29] as const;
const socket = [41, 198] as const;

const newNamespaces = 0x7e02_0000;
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
  const column = architecture === 'x64' ? 0 : architecture === 'arm64' ? 1 : undefined;
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
  answerIf(jumpAnyBit, newNamespaces, notPermitted);
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
