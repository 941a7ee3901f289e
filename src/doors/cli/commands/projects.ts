import { resolve } from 'node:path';
import { Option } from 'commander';
import type { Cli } from '../cli.ts';
import { collect, define, group, wholeNumber, type Setting } from '../define.ts';
import { CommandFailure, Silent } from '../failure.ts';
import { columns, harmless, oneLine } from '../output.ts';

interface Project {
  id: string;
  name: string;
  status: string;
  description?: string;
  agent?: string;
}

interface Executed {
  exit_code: number | null;
  stdout: string;
  stderr: string;
  timed_out: boolean;
  truncated: boolean;
}

export function addProjects(setting: Setting): void {
  const project = group(setting, 'project', 'places where agents work');
  define(setting, project, {
    usage: 'list',
    summary: 'list the projects',
    examples: ['oubliette project list'],
    async run(cli) {
      const answer = await cli.call<{ projects: Project[] }>('project_list');
      cli.print(answer, () =>
        answer.projects.length === 0
          ? 'There are no projects. Make one: oubliette project create NAME'
          : columns(
              answer.projects.map((each) => [
                each.id,
                cli.paint('cyan', inLine(each.name)),
                each.status,
                oneLine(harmless(each.description ?? ''), 80),
              ]),
              cli.room,
            ),
      );
    },
  });
  define(setting, project, {
    usage: 'create <name>',
    summary: 'make a project',
    options: [
      new Option('--description <text>', 'what it is for'),
      new Option('--agent <name>', 'which agent works there'),
      new Option('--model <name>', 'which model it uses'),
      new Option('--driver <driver>', 'what runs the sandbox').choices(['auto', 'docker', 'podman', 'bubblewrap']),
      new Option('--level <level>', 'how closed the sandbox must be').choices(['basic', 'strict']),
      new Option('--image <image>', 'image of the sandbox'),
      new Option('--egress <host>', 'a host that may be reached from inside; may be repeated').argParser(collect),
      new Option('--bundle <slug>', 'a bundle its sessions may use; may be repeated').argParser(collect),
      new Option('--secret <name>', 'a secret for its environment; may be repeated').argParser(collect),
    ],
    examples: [
      'oubliette project create demo',
      'oubliette project create site --description "Our web site" --bundle text --level strict',
    ],
    async run(cli, [name], options: CreateOptions) {
      const made = await cli.call<Project>('project_create', projectArgs(name, options));
      // What a shell would read as something else is not for pasting.
      const ref = /^[a-z\d][\w.-]*$/i.test(made.name) ? made.name : made.id;
      cli.print(made, () => `Made project ${inLine(made.name)} (${made.id}). Talk to its agent: oubliette chat ${ref}`);
    },
  });
  byRef(setting, project, 'show', 'print one project', 'project_get');
  byRef(setting, project, 'delete', 'delete a project, its workspaces and its sandbox', 'project_delete', 'Deleted');
  byRef(setting, project, 'start', "start the project's utility sandbox", 'container_start', 'Started');
  byRef(setting, project, 'stop', "stop the project's utility sandbox", 'container_stop', 'Stopped');
  define(setting, project, {
    usage: 'logs <project>',
    summary: "print the last lines of the project's utility sandbox",
    examples: ['oubliette project logs demo --tail 50'],
    options: [new Option('--tail <lines>', 'how many').argParser(wholeNumber())],
    async run(cli, [ref], options: { tail?: number }) {
      const answer = await cli.call<{ text: string }>('container_logs', {
        project_id: await projectId(cli, ref),
        ...(options.tail !== undefined && { tail: options.tail }),
      });
      cli.print(answer, () => harmless(answer.text));
    },
  });
  define(setting, project, {
    usage: 'exec <project> <command...>',
    summary: "run a command in the project's utility sandbox",
    examples: ['oubliette project exec demo -- ls -la'],
    async run(cli, [ref, command]) {
      const answer = await cli.call<Executed>('container_exec', {
        project_id: await projectId(cli, ref),
        command,
      });
      if (answer.stderr && !cli.isJson) cli.note(harmless(answer.stderr.trimEnd()));
      cli.print(answer, () => harmless(answer.stdout));
      if (answer.truncated && !cli.isJson) cli.note('There was more output than is kept: the rest is left out.');
      if (answer.timed_out && !cli.isJson)
        cli.note(`The command took too long and was ended. More time: oubliette call container_exec, with timeout_ms`);
      if (answer.exit_code !== 0) throw new Silent(1);
    },
  });
  define(setting, project, {
    usage: 'image <folder> <name>',
    summary: 'build an image for projects from a folder with a Dockerfile',
    examples: ['oubliette project image ./agents my-agents:1', 'oubliette project create coding --image my-agents:1'],
    async run(cli, [folder, image]) {
      const answer = await cli.call<{ image: string; duration_ms: number }>('image_build', {
        folder: resolve(folder),
        image,
      });
      cli.print(answer, () => `Built ${answer.image} in ${(answer.duration_ms / 1000).toFixed(1)} s.`);
    },
  });
  define(setting, project, {
    usage: 'rebuild [project]',
    summary: 'build the image of a project, or the base image, again',
    examples: ['oubliette project rebuild demo'],
    async run(cli, [ref]) {
      const answer = await cli.call<{ image: string; duration_ms: number }>(
        'image_rebuild',
        ref ? { project_id: await projectId(cli, ref) } : {},
      );
      cli.print(answer, () => `Built ${answer.image} in ${(answer.duration_ms / 1000).toFixed(1)} s.`);
    },
  });
}

const inLine = (text: string): string => oneLine(harmless(text), Infinity);

/** A project's id by its id or name; fails when there is none. */
export async function projectId(cli: Cli, ref: string): Promise<string> {
  if (ref.startsWith('proj_')) return ref;
  const found = (await cli.rows<Project>('project_list', 'projects')).find((each) => each.name === ref);
  if (found) return found.id;
  throw new CommandFailure('project.not_found', `There is no project ${ref}. See: oubliette project list`);
}

function byRef(
  setting: Setting,
  parent: ReturnType<typeof group>,
  verb: string,
  summary: string,
  tool: string,
  done?: string,
): void {
  define(setting, parent, {
    usage: `${verb} <project>`,
    summary,
    examples: [`oubliette project ${verb} demo`],
    async run(cli, [ref]) {
      const answer = await cli.call(tool, { project_id: await projectId(cli, ref) });
      cli.print(answer, () => (done ? `${done} ${ref}.` : cli.readable(answer)));
    },
  });
}

interface CreateOptions {
  description?: string;
  agent?: string;
  model?: string;
  driver?: string;
  level?: string;
  image?: string;
  egress?: string[];
  bundle?: string[];
  secret?: string[];
}

function projectArgs(name: string, options: CreateOptions): Record<string, unknown> {
  const known = (entries: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== undefined));
  const sandbox = known({ driver: options.driver, level: options.level, image: options.image, egress: options.egress });
  return known({
    name,
    description: options.description,
    agent: options.agent,
    model: options.model,
    sandbox: Object.keys(sandbox).length > 0 ? sandbox : undefined,
    bundles: options.bundle,
    secrets: options.secret,
  });
}
