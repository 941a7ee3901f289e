import type { AgentDriver } from '../agents/index.ts';
import type { Tokens } from '../auth/index.ts';
import type { Asks, EventLog } from '../log/index.ts';
import type { Logger } from '../observe/index.ts';
import type { Projects } from '../projects/index.ts';
import type { SandboxDriver } from '../sandbox/index.ts';
import type { AgentCommand, AgentConfig, Settings } from '../schema/index.ts';
import type { Blobs, ProjectTables, SessionTables, UtilityTables } from '../store/index.ts';

/** How to speak to one configured agent and how to start it inside. */
export interface KnownAgent {
  driver: AgentDriver;
  config: AgentConfig;
  /** The program inside the sandbox, with its own environment and files. */
  command: AgentCommand;
}

/** One sandbox's folder of sockets: which folder it is *is* the identity of whoever speaks through it. */
export interface DoorIdentity {
  /** Host folder that is mounted at /mcp. */
  folder: string;
  projectId: string;
  /** The session it is bound to; a slot of the warm pool is bound late, a utility sandbox never. */
  sessionId(): string | undefined;
  /** Resolves with the session once bound; never for a utility sandbox. */
  bound: Promise<string>;
}

/** Something that listens in each sandbox's folder (relay, model, egress). */
export interface BoxDoor {
  open(identity: DoorIdentity): Promise<{ close(): Promise<void> }>;
}

/** Everything that sessions need from other rooms; `main.ts` passes it in. */
export interface SessionPorts {
  log: EventLog;
  asks: Asks;
  tables: SessionTables;
  projectTables: ProjectTables;
  utilityTables: UtilityTables;
  projects: Projects;
  drivers: readonly SandboxDriver[];
  tokens: Tokens;
  blobs: Blobs;
  settings: () => Settings;
  /** A stored secret's value; throws secret.missing. */
  secret: (name: string) => Promise<string>;
  /** Puts secrets in the place of `${NAME}` in a configured value. */
  fill: (text: string) => Promise<string>;
  /** Throws agent.unavailable with the reason. */
  agent: (name: string) => KnownAgent;
  doors: readonly BoxDoor[];
  /** `$OUBLIETTE_HOME/run`: short paths, because sockets lie below it. */
  runFolder: string;
  logger: Logger;
  /** This server process, as other processes on the same home see it. */
  node: string;
}
