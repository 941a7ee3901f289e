import { clientServer, type AgentSpec } from '../agents/index.ts';
import type { Project } from '../projects/index.ts';
import { openLink, type SandboxDriver, type SandboxSpec, type SupervisorLink } from '../sandbox/index.ts';
import {
  insidePaths,
  loopbackPorts,
  newId,
  type AgentCommand,
  type ProviderConfig,
  type Settings,
} from '../schema/index.ts';
import { openDoors, type Binding, type Place } from './place.ts';
import type { KnownAgent, SessionPorts } from './ports.ts';

/** A sandbox with its supervisor linked and its doors open. */
export interface LiveBox {
  id: string;
  driver: SandboxDriver;
  place: Place;
  binding: Binding;
  link: SupervisorLink;
  /** Resolves when the sandbox has ended, with why. */
  over: Promise<string>;
  /** Ends the sandbox and everything in it, reads nothing more, closes the doors; these also when it fails. */
  remove(): Promise<void>;
  /** Lets the sandbox run and lets go of it: the server stops. */
  leave(): Promise<void>;
}

export interface BoxWish {
  project: Project;
  workspaceId: string;
  place: Place;
  binding: Binding;
  labels: Record<string, string>;
  /** Where the spool was read to. */
  from: number;
}

/** Starts a sandbox for a place; failing leaves nothing behind. */
export async function startBox(ports: SessionPorts, wish: BoxWish): Promise<LiveBox> {
  const { driver } = await ports.projects.sandboxFor(wish.project);
  const id = newId('box');
  const settings = ports.settings();
  const box = await attach(ports, { ...wish, id, driver });
  try {
    await driver.start(boxSpec(ports, wish, id, settings));
  } catch (error) {
    // The reason why it did not start matters more than a failure to remove it.
    await box.remove().catch(() => {});
    throw error;
  }
  box.watch();
  return box;
}

/** Links to a sandbox that runs already. */
export async function reattachBox(
  ports: SessionPorts,
  wish: BoxWish & { id: string; driver: SandboxDriver },
): Promise<LiveBox> {
  const box = await attach(ports, wish);
  box.watch();
  return box;
}

/** Ends what an earlier server left running in a place: two sandboxes there would share one identity. */
export async function clearPlace(ports: SessionPorts, place: Place): Promise<void> {
  for (const driver of ports.drivers) {
    if (!(await driver.probe()).available) continue;
    for (const box of await driver.list({ run: ports.runFolder, place: place.name })) await driver.remove(box.id);
  }
}

/** Where the spool of a sandbox that is gone ends, read from an offset on. */
export async function spoolEnd(place: Place, from: number): Promise<number> {
  const link = await openLink({ session: place.name, mcp: place.mcp, spool: place.spool, from });
  let end = from;
  link.ended();
  try {
    for await (const batch of link.records()) end = batch.at(-1)?.next ?? end;
  } finally {
    await link.close();
  }
  return end;
}

async function attach(
  ports: SessionPorts,
  wish: BoxWish & { id: string; driver: SandboxDriver },
): Promise<LiveBox & { watch(): void }> {
  const { id, driver, place, binding } = wish;
  const doors = await openDoors(ports.doors, binding);
  let link: SupervisorLink;
  const stop = new AbortController();
  let end: (reason: string) => void = () => {};
  const over = new Promise<string>((resolve) => (end = resolve));
  try {
    link = await openLink({
      session: place.name,
      mcp: place.mcp,
      spool: place.spool,
      from: wish.from,
      onIncompatible: () => end('its supervisor speaks another version of the protocol'),
    });
  } catch (error) {
    await doors.close();
    throw error;
  }
  const letGo = async (): Promise<void> => {
    stop.abort();
    await Promise.allSettled([link.close(), doors.close()]);
  };
  return {
    id,
    driver,
    place,
    binding,
    link,
    over,
    watch: () => {
      driver.wait(id, stop.signal).then(
        ({ exitCode, reason }) => end(reason ?? `the sandbox ended with code ${exitCode ?? 'unknown'}`),
        (error: unknown) => stop.signal.aborted || end(`the sandbox is out of sight: ${(error as Error).message}`),
      );
    },
    async remove() {
      stop.abort();
      // The doors close also when the engine does not answer any more.
      await driver.remove(id).finally(letGo);
    },
    leave: letGo,
  };
}

function boxSpec(ports: SessionPorts, wish: BoxWish, id: string, settings: Settings): SandboxSpec {
  const { project } = wish;
  const { memoryMb, pids, cpus } = settings.sandbox;
  const image = project.wish.sandbox.image;
  return {
    id,
    labels: { ...wish.labels, project: project.id, place: wish.place.name, run: ports.runFolder },
    ...(image !== undefined && { image }),
    workspace: ports.projects.folderOf({ id: wish.workspaceId, project_id: project.id }),
    mcp: wish.place.mcp,
    spool: wish.place.spool,
    env: { OUBLIETTE_PROJECT: project.id },
    limits: { memoryMb, pids, cpus },
    level: project.wish.sandbox.level ?? settings.sandbox.level,
  };
}

/** The program to start, with what only this session may know in its environment (never in an argument list). */
export async function agentCommand(
  ports: SessionPorts,
  project: Project,
  agent: KnownAgent,
  apiKey: string | undefined,
): Promise<AgentCommand> {
  const settings = ports.settings();
  return {
    ...agent.command,
    env: {
      ...doorEnvironment(
        project,
        agent.config.provider === undefined
          ? Object.values(settings.providers)[0]
          : settings.providers[agent.config.provider],
      ),
      ...(await filled(ports, agent.command.env)),
      ...project.wish.env,
      ...(await secretValues(ports, project)),
      ...(apiKey !== undefined && { OUBLIETTE_API_KEY: apiKey }),
    },
  };
}

async function filled(ports: SessionPorts, env: Record<string, string>): Promise<Record<string, string>> {
  const pairs = Object.entries(env).map(async ([key, value]) => [key, await ports.fill(value)] as const);
  return Object.fromEntries(await Promise.all(pairs));
}

/** Values of the secrets a project names; secret.missing when one is not set. */
export async function secretValues(ports: SessionPorts, project: Project): Promise<Record<string, string>> {
  const values: Record<string, string> = {};
  for (const name of project.wish.secrets) {
    values[name] = await ports.secret(name);
  }
  return values;
}

/** Where a program inside finds the model and egress doors. The key is a placeholder: the real one stays outside. */
export function doorEnvironment(project: Project, provider: ProviderConfig | undefined): Record<string, string> {
  const model = `http://127.0.0.1:${loopbackPorts.model.port}`;
  const egress = `http://127.0.0.1:${loopbackPorts.egress.port}`;
  const byShape: Record<ProviderConfig['shape'], Record<string, string>> = {
    openai: { OPENAI_BASE_URL: `${model}/v1`, OPENAI_API_KEY: 'oubliette' },
    anthropic: { ANTHROPIC_BASE_URL: model, ANTHROPIC_API_KEY: 'oubliette' },
    gemini: { GOOGLE_GEMINI_BASE_URL: model, GEMINI_API_KEY: 'oubliette' },
  };
  return {
    ...(provider && byShape[provider.shape]),
    ...(project.egress.length > 0 && {
      HTTP_PROXY: egress,
      HTTPS_PROXY: egress,
      http_proxy: egress,
      https_proxy: egress,
      NO_PROXY: '127.0.0.1,localhost',
      no_proxy: '127.0.0.1,localhost',
    }),
  };
}

/** What the agent is told when its conversation begins. The key itself stays out: the supervisor fills it in from the environment. */
export function agentSpec(
  agent: KnownAgent,
  more: { model?: string | null; permissions: AgentSpec['permissions']; resume?: string; hasKey: boolean },
): AgentSpec {
  return {
    config: agent.config,
    cwd: insidePaths.workspace,
    mcpServers: [clientServer(more.hasKey)],
    ...(more.model && { model: more.model }),
    permissions: more.permissions,
    ...(more.resume !== undefined && { resume: more.resume }),
  };
}
