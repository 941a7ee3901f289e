import type { Readable } from 'node:stream';

export type DriverName = 'docker' | 'podman' | 'bubblewrap';
export type SandboxLevel = 'basic' | 'strict';

/** How well a driver can isolate sandboxes here and now. */
export interface Probe {
  driver: DriverName;
  available: boolean;
  /** Why not, or what would make it better; one sentence each, for `doctor` and `project_get`. */
  notes: string[];
  version?: string;
  /** Socket or program it was found at. */
  where?: string;
  /** The most that this driver can give on this machine; absent when not available. */
  level?: SandboxLevel;
  /** What of `strict` is missing, in the words of the documentation: `memory limit`, `seccomp`, ... */
  missing: string[];
}

export interface SandboxLimits {
  memoryMb: number;
  pids: number;
  cpus: number;
  /** Largest single file, and the size of /tmp is a quarter of it. Default 1024. */
  fileMb?: number;
  /** Workspace and spool together may grow by this much before the sandbox is killed. Default 10240. */
  diskMb?: number;
}

export interface SandboxSpec {
  /** `box_...`, unique on this machine; the name under which it is found again. */
  id: string;
  /** Plain `key: value` pairs (`session`, `project`, `home`, ...), found again by `list`. */
  labels: Record<string, string>;
  /** An image's reference; absent: the base image. */
  image?: string;
  /** Host folder, mounted at /workspace, read-write. */
  workspace: string;
  /** Host folder with the session's sockets, mounted at /mcp, read-only. */
  mcp: string;
  /** Host folder for the supervisor's spool, mounted at /spool, read-write. */
  spool: string;
  /** The whole environment inside; nothing of the server's own leaks in. */
  env: Record<string, string>;
  /** Default: the supervisor. */
  command?: string[];
  limits: SandboxLimits;
  /** What it must have at least; start fails with sandbox.unavailable when the driver cannot. */
  level: SandboxLevel;
}

export type SandboxStatus = 'running' | 'exited';

export interface Sandbox {
  id: string;
  driver: DriverName;
  labels: Record<string, string>;
  status: SandboxStatus;
  exitCode?: number;
  /** `out of memory`, `disk full`, ... where the driver knows why it ended. */
  reason?: string;
  startedAt: string;
  /** What it has, and what of strict it lacks. */
  level: SandboxLevel;
  missing: string[];
}

export interface ExecSpec {
  command: string[];
  workdir?: string;
  env?: Record<string, string>;
  timeoutMs: number;
  /** Per stream; what is beyond is dropped and `truncated` says so. */
  maxBytes: number;
  stdin?: string;
  signal?: AbortSignal;
}

export interface ExecResult {
  exit_code: number | null;
  stdout: string;
  stderr: string;
  timed_out: boolean;
  truncated: boolean;
}

export interface ImageBuild {
  /** Reference of the result, usable as `SandboxSpec.image`. */
  image: string;
  duration_ms: number;
}

/**
 * Starts, stops and watches sandboxes; knows nothing of agents. Every failure is a Failure: `sandbox.unavailable`
 * when the engine is not there or cannot give the level, `sandbox.failed` when it refused or broke.
 */
export interface SandboxDriver {
  readonly name: DriverName;
  /** Cheap after the first time; `fresh` looks again. Never throws. */
  probe(fresh?: boolean): Promise<Probe>;
  /** Resolves when the processes run. Builds the base image first if it is missing. Failing leaves nothing behind. */
  start(spec: SandboxSpec): Promise<Sandbox>;
  /** SIGTERM, after `graceMs` everything inside is killed; resolves when no process is left. Unknown id: no error. */
  stop(id: string, graceMs?: number): Promise<void>;
  /** Kills everything inside at once and removes what the driver kept; resolves when it is gone. */
  remove(id: string): Promise<void>;
  /** undefined when there is no such sandbox. */
  get(id: string): Promise<Sandbox | undefined>;
  /** All sandboxes, also of earlier servers, that carry all these labels. */
  list(labels?: Record<string, string>): Promise<Sandbox[]>;
  /** Resolves when it has ended, however that came about; rejects when `signal` aborts or the driver is closed. */
  wait(id: string, signal?: AbortSignal): Promise<{ exitCode: number | null; reason?: string }>;
  exec(id: string, spec: ExecSpec): Promise<ExecResult>;
  /** Last lines of what its first process wrote. */
  logs(id: string, tail: number): Promise<string>;
  /** Makes the base image (or root file system) anew. */
  buildBase(signal?: AbortSignal): Promise<ImageBuild>;
  /** Builds a project's image from a tar stream with a Dockerfile; bubblewrap knows only FROM oubliette-base, COPY and ENV. */
  buildImage(tag: string, context: Readable, signal?: AbortSignal): Promise<ImageBuild>;
  /** True when this image can be used without building or pulling. */
  hasImage(image?: string): Promise<boolean>;
  close(): Promise<void>;
}
