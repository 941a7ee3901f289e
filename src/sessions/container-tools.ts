import { argsOf, fail, insidePaths, offerTool, type ArgsOf, type BuiltInBundle, type Call } from '../schema/index.ts';
import { imageBuildTool, type ExecSpec, type Sandboxes } from '../sandbox/index.ts';
import type { SessionPorts } from './ports.ts';
import type { Sessions } from './sessions.ts';

const maxStreamBytes = 1024 * 1024;
const longestExecMs = 600_000;
const projectId = { type: 'string', description: 'Id of the project, proj_...' } as const;

/** container_start, _stop, _logs, _exec: one utility sandbox per project, or a session's own. */
export function containerTools(sessions: Sessions, ports: SessionPorts): BuiltInBundle {
  return {
    slug: 'container',
    displayName: 'Containers',
    description: 'The utility sandbox of a project: same image, same closure as its sessions.',
    isOwn: true,
    tools: [
      offerTool({
        slug: 'start',
        description: 'Start the utility sandbox of a project.',
        level: 'write',
        argSchema: argsOf({ project_id: projectId }, ['project_id']),
        returns: '{id, status: "running"}',
        example: 'container.start(project_id="proj_...")',
        limits: { timeoutMs: longestExecMs },
        run: async ({ project_id }, call) => {
          await sessions.utility.start(await ports.projects.get(call.actor, project_id));
          return { id: project_id, status: 'running' };
        },
      }),
      offerTool({
        slug: 'stop',
        description: 'Stop the utility sandbox of a project.',
        level: 'write',
        argSchema: argsOf({ project_id: projectId }, ['project_id']),
        returns: '{id, status: "stopped"}',
        example: 'container.stop(project_id="proj_...")',
        limits: { timeoutMs: 60_000 },
        run: async ({ project_id }, call) => {
          await ports.projects.get(call.actor, project_id);
          await sessions.utility.stop(project_id);
          return { id: project_id, status: 'stopped' };
        },
      }),
      offerTool({
        slug: 'logs',
        description: 'Show the last lines that the utility sandbox wrote.',
        level: 'write',
        argSchema: argsOf(
          {
            project_id: projectId,
            tail: { type: 'integer', minimum: 1, maximum: 10_000, default: 100, description: 'How many lines.' },
          },
          ['project_id'],
        ),
        returns: '{text}',
        example: 'container.logs(project_id="proj_...", tail=20)',
        run: async ({ project_id, tail }, call) => {
          await ports.projects.get(call.actor, project_id);
          return { text: await sessions.utility.logs(project_id, tail) };
        },
      }),
      offerTool({
        slug: 'exec',
        description:
          'Run a command in the utility sandbox of a project, or with session_id in the sandbox of that session.',
        level: 'write',
        argSchema: execSchema,
        returns: '{exit_code, stdout, stderr, timed_out, truncated}',
        example: 'container.exec(project_id="proj_...", command="ls -l")',
        limits: { timeoutMs: longestExecMs + 60_000 },
        run: (given, call) => exec(sessions, ports, given, call),
      }),
    ],
  };
}

const execSchema = argsOf(
  {
    project_id: projectId,
    command: {
      description: 'Program and arguments as a list, or a line for the shell.',
      anyOf: [
        { type: 'string', minLength: 1, maxLength: 131_072 },
        { type: 'array', minItems: 1, maxItems: 4096, items: { type: 'string', maxLength: 131_072 } },
      ],
    },
    session_id: { type: 'string', description: 'Run in the sandbox of this session instead.' },
    workspace_id: { type: 'string', description: 'Workspace to mount; default is the default one.' },
    workdir: {
      type: 'string',
      maxLength: 4096,
      pattern: '^/',
      description: 'Folder inside the sandbox; default /workspace.',
    },
    timeout_ms: {
      type: 'integer',
      minimum: 1,
      maximum: longestExecMs,
      default: 60_000,
      description: 'After this long it is killed.',
    },
  },
  ['project_id', 'command'],
);

async function exec(
  sessions: Sessions,
  ports: SessionPorts,
  given: ArgsOf<typeof execSchema>,
  call: Call,
): Promise<object> {
  const project = await ports.projects.get(call.actor, given.project_id);
  const command = typeof given.command === 'string' ? ['/bin/sh', '-c', given.command] : given.command;
  if ([...command, given.workdir ?? ''].some((part) => part.includes('\0')))
    throw fail('request.invalid', { reason: 'neither a command nor workdir can hold a NUL character' });
  const spec: ExecSpec = {
    command,
    workdir: given.workdir ?? insidePaths.workspace,
    timeoutMs: given.timeout_ms,
    maxBytes: maxStreamBytes,
    signal: call.signal,
  };
  if (given.session_id !== undefined) return sessions.exec(call.actor, project.id, given.session_id, spec);
  if (
    given.workspace_id !== undefined &&
    (await ports.projectTables.workspace(given.workspace_id))?.project_id !== project.id
  )
    throw fail('workspace.not_found', { ref: given.workspace_id });
  return sessions.utility.exec(project, given.workspace_id, spec);
}

/** image_rebuild and image_build. */
export function imageTools(ports: SessionPorts, sandboxes: Pick<Sandboxes, 'choose'>): BuiltInBundle {
  return {
    slug: 'image',
    displayName: 'Images',
    description: 'What sandboxes are made from.',
    isOwn: true,
    tools: [
      offerTool({
        slug: 'rebuild',
        description: 'Build the base image (or root file system) of sandboxes anew, without any network.',
        level: 'write',
        argSchema: argsOf(
          { project_id: { type: 'string', description: 'Build for the sandbox driver of this project.' } },
          [],
        ),
        returns: '{image, duration_ms}',
        example: 'image.rebuild()',
        limits: { timeoutMs: longestExecMs },
        run: async ({ project_id }, call) => {
          const { driver: wanted, level } = ports.settings().sandbox;
          const { driver } =
            project_id === undefined
              ? await sandboxes.choose({ driver: wanted, level })
              : await ports.projects.sandboxFor(await ports.projects.get(call.actor, project_id));
          const { image, duration_ms } = await driver.buildBase(call.signal);
          return { image, duration_ms };
        },
      }),
      imageBuildTool(sandboxes, () => ports.settings().http.allowRemoteConfig),
    ],
  };
}
