/**
 * What server and supervisor say to each other.
 *
 * Durable first, wake second: all that the agent says is appended to numbered spool segments in `/spool` (a host
 * folder), and the server reads those files. The socket `/mcp/control.sock` only wakes the reader and carries
 * commands, one JSON object per line. The supervisor connects, so a restarted server simply listens again.
 */
export const supervisorVersions: readonly number[] = [1];

/** The newest version that both sides speak; each side keeps the last two. undefined when there is none. */
export function agreeOnVersion(
  theirs: readonly number[],
  ours: readonly number[] = supervisorVersions,
): number | undefined {
  return ours.filter((version) => theirs.includes(version)).sort((a, b) => b - a)[0];
}

/** In the folder mounted at `/mcp`; the server listens, the supervisor connects. */
export const controlSocketName = 'control.sock';
/** The same for commands that are run beside the agent. */
export const execSocketName = 'exec.sock';

/** Loopback ports in the sandbox and the sockets in `/mcp` that they lead to. */
export const loopbackPorts = {
  model: { port: 4780, socket: 'model.sock' },
  egress: { port: 4781, socket: 'egress.sock' },
} as const;

/** What is where inside every sandbox. */
export const insidePaths = {
  workspace: '/workspace',
  mcp: '/mcp',
  spool: '/spool',
  /** Lies in the spool, so that an agent's transcript outlives its sandbox. */
  home: '/spool/home',
  node: '/usr/bin/node',
  init: '/opt/oubliette/init',
  supervisor: '/opt/oubliette/supervisor.js',
  client: '/opt/oubliette/client.js',
  embeddedAgent: '/opt/oubliette/embedded-agent.js',
  codeChild: '/opt/oubliette/code-child.js',
} as const;

/** Limits both sides agree on. */
export const spoolLimits = {
  segmentBytes: 4 * 1024 * 1024,
  /** Unread bytes in the spool at which the agent is paused. */
  fullBytes: 64 * 1024 * 1024,
  /** A longer line of the agent is dropped and noted as a `lost` record. */
  lineBytes: 16 * 1024 * 1024,
} as const;

/**
 * One record of the spool is one line: a letter for its kind, then its text. Its offset is the number of bytes
 * before it since the spool began; a segment's file name is the offset of its first byte, 16 digits, `.spool`.
 */
export const recordKinds = {
  /** A line of the agent's stdout. */
  o: 'out',
  /** A line of its stderr. */
  e: 'err',
  /** JSON: a command was carried out, `{id, error?}`. */
  c: 'done',
  /** JSON: the agent's state changed, `AgentProcessState`. */
  s: 'state',
  /** JSON: `{stream, bytes}` were dropped because a line was too long or stderr too fast. */
  x: 'lost',
} as const;

export const segmentName = (start: number): string => `${String(start).padStart(16, '0')}.spool`;

/** The offset a segment begins at; undefined for names that are none. */
export function segmentStart(name: string): number | undefined {
  const start = /^\d{16}\.spool$/.test(name) ? Number(name.slice(0, 16)) : Number.NaN;
  return Number.isSafeInteger(start) ? start : undefined;
}

export type AgentProcessState =
  | { state: 'started'; pid: number }
  | { state: 'paused' | 'resumed' }
  /** `reason`: why it was ended, when it could no longer be reached. */
  | { state: 'exited'; code: number | null; signal: string | null; reason?: string }
  | { state: 'failed'; reason: string };

/**
 * A string for a line to the agent that the supervisor replaces by the value of its environment: what may be in
 * memory only (`OUBLIETTE_API_KEY`) then never lies in a stored line.
 */
export const fromEnvironment = (name: string): string => `@env:${name}`;
export const environmentReference = /"@env:([A-Z_][A-Z0-9_]*)"/g;

/** What the program in the sandbox is and where it runs; sent with `start`. */
export interface AgentCommand {
  command: string[];
  cwd: string;
  /** Added to the supervisor's own environment. */
  env: Record<string, string>;
  /** Files to write below the agent's home before it starts: relative name to text. */
  files?: Record<string, string>;
}

/** Numbered by the server; carried out once however often it is sent. `id` is unique within the session. */
export type SupervisorCommand = { id: string } & (
  | { do: 'start'; agent: AgentCommand }
  /** One line for the agent's stdin. */
  | { do: 'write'; line: string }
  | { do: 'signal'; signal: 'SIGINT' | 'SIGTERM' | 'SIGKILL' }
  /** Ends stdin, then the agent's whole process group, then the supervisor. */
  | { do: 'stop'; graceMs: number }
);

/** From the supervisor, first on every connection: who it is, what it speaks, how far the spool reaches. */
export interface SupervisorHello {
  hello: { v: number[]; session: string; offset: number; running: boolean };
}
/** From the server, in answer: the version both use, and up to where it has stored what it read. */
export interface ServerHello {
  hello: { v: number; session: string; offset: number };
}
export type FromSupervisor = SupervisorHello | { at: number };
export type ToSupervisor =
  | ServerHello
  | { command: SupervisorCommand }
  /** Everything before this offset is stored: segments that lie wholly before it may go. */
  | { ack: number };

/** Over the exec socket: the server asks, the supervisor answers with the same id. */
export interface ExecRequest {
  id: string;
  command: string[];
  workdir: string;
  env: Record<string, string>;
  timeoutMs: number;
  maxBytes: number;
  stdin?: string;
}
export type ToExec = { exec: ExecRequest } | { cancel: string };
export interface FromExec {
  id: string;
  exit_code: number | null;
  stdout: string;
  stderr: string;
  timed_out: boolean;
  truncated: boolean;
  error?: string;
}
