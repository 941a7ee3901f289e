import {
  argsOf,
  checkText,
  offerTool,
  type Actor,
  type ArgsOf,
  type BuiltInBundle,
  type Settings,
} from '../schema/index.ts';
import type { Sandboxes } from '../sandbox/index.ts';
import { defaultBundles } from './admit-project.ts';
import { projectView } from './project-view.ts';
import type { Projects } from './projects.ts';

const text = (description: string) => ({ type: 'string', description }) as const;
const projectId = text('Id of the project, proj_...');

export interface ProjectToolsOptions {
  projects: Projects;
  settings: () => Settings;
  sandboxes: Pick<Sandboxes, 'probes'>;
  knownBundles: () => readonly string[];
}

/** project_list, project_get, project_create, project_delete, project_options. */
export function projectTools({ projects, settings, sandboxes, knownBundles }: ProjectToolsOptions): BuiltInBundle {
  return {
    slug: 'project',
    displayName: 'Projects',
    description: 'Places where agents work: a sandbox, limits, granted bundles and workspaces.',
    isOwn: true,
    tools: [
      offerTool({
        slug: 'list',
        description: 'List the projects within reach.',
        level: 'read',
        argSchema: argsOf({}),
        returns: '{projects: [project]}',
        example: 'project.list()',
        run: async (_args, call) => ({
          projects: await Promise.all((await projects.list(call.actor)).map((each) => projectView(projects, each))),
        }),
      }),
      offerTool({
        slug: 'get',
        description: 'Show one project: its agent, sandbox, limits, bundles and default workspace.',
        level: 'read',
        argSchema: argsOf({ project_id: projectId }, ['project_id']),
        returns: 'the project',
        example: 'project.get(project_id="proj_...")',
        run: async ({ project_id }, call) => projectView(projects, await projects.get(call.actor, project_id)),
      }),
      offerTool({
        slug: 'create',
        description:
          'Create a project: a named place with a sandbox in which agents work. Secrets, egress, an image and a weaker sandbox need admin level.',
        level: 'write',
        argSchema: createSchema,
        returns: '{id, name, description, status, agent, sandbox, default_workspace_id, limits, bundles, created_at}',
        example: 'project.create(name="my-project", description="What it is for")',
        run: async (wish, call) => {
          checkText(wish, '/args');
          return projectView(projects, await create(projects, call.actor, wish));
        },
      }),
      offerTool({
        slug: 'delete',
        description: 'Delete a project with its workspaces and sessions. Refused while it has live sessions.',
        level: 'write',
        argSchema: argsOf({ project_id: projectId }, ['project_id']),
        returns: '{id, deleted: true}',
        example: 'project.delete(project_id="proj_...")',
        run: async ({ project_id }, call) => {
          await projects.delete(call.actor, project_id);
          return { id: project_id, deleted: true };
        },
      }),
      offerTool({
        slug: 'options',
        description: 'Show what a project can be made of: agents, models, sandbox drivers, bundles, and the defaults.',
        level: 'write',
        argSchema: argsOf({ project_id: text('Not needed: the options are the same for all projects.') }),
        returns: '{agents, models, drivers, bundles, defaults}',
        example: 'project.options()',
        run: async ({ project_id }, call) => {
          if (project_id !== undefined) await projects.get(call.actor, project_id);
          return options(settings(), sandboxes, knownBundles(), call.actor);
        },
      }),
    ],
  };
}

type CreateArgs = ArgsOf<typeof createSchema>;

const names = (description: string, itemDescription: string) =>
  ({
    type: 'array',
    description,
    items: { type: 'string', minLength: 1, maxLength: 256, description: itemDescription },
    maxItems: 256,
    uniqueItems: true,
  }) as const;

const createSchema = argsOf(
  {
    name: { ...text('Unique name of the project.'), maxLength: 128 },
    description: { ...text('What the project is for.'), maxLength: 4096 },
    agent: text('Name of a configured agent; default is the configured one.'),
    model: { ...text('Model that the agent shall use.'), maxLength: 256 },
    sandbox: {
      type: 'object',
      description: 'How the agents are closed in.',
      additionalProperties: false,
      properties: {
        driver: { ...text('auto, docker, podman or bubblewrap.'), enum: ['auto', 'docker', 'podman', 'bubblewrap'] },
        level: { ...text('The least that is acceptable: basic or strict.'), enum: ['basic', 'strict'] },
        image: { ...text('Image to use instead of the base image (admin).'), minLength: 1, maxLength: 256 },
        egress: names('Hosts that the sandbox may reach (admin).', 'host, *.host or host:port'),
      },
    },
    limits: {
      type: 'object',
      description: 'Limits for each tree of sessions in this project.',
      additionalProperties: false,
      properties: {
        depth: {
          type: 'integer',
          minimum: 0,
          maximum: 100,
          description: 'Levels of child sessions below the first one.',
        },
        agents: {
          type: 'integer',
          minimum: 1,
          maximum: 10_000,
          description: 'Sessions in a tree, the first one included.',
        },
        cost_usd: {
          type: 'number',
          minimum: 0,
          maximum: 1_000_000,
          description: 'What a tree may spend on models, in USD.',
        },
      },
    },
    bundles: names('Slugs of the bundles that sessions may use in code mode.', 'bundle slug'),
    env: {
      type: 'object',
      description: 'Environment of the sandbox.',
      maxProperties: 256,
      propertyNames: { pattern: '^[A-Za-z_][A-Za-z0-9_]*$', maxLength: 256 },
      additionalProperties: { type: 'string', maxLength: 65536, pattern: '^[^\\u0000]*$' },
    },
    secrets: names('Names of secrets to place in the environment of the sandbox (admin).', 'secret name'),
  },
  ['name'],
);

function create(projects: Projects, actor: Actor, wish: CreateArgs): ReturnType<Projects['create']> {
  return projects.create(actor, wish.name, {
    ...(wish.description !== undefined && { description: wish.description }),
    ...(wish.agent !== undefined && { agent: wish.agent }),
    ...(wish.model !== undefined && { model: wish.model }),
    sandbox: wish.sandbox ?? {},
    limits: wish.limits ?? {},
    ...(wish.bundles && { bundles: wish.bundles }),
    env: wish.env ?? {},
    secrets: wish.secrets ?? [],
  });
}

async function options(
  settings: Settings,
  sandboxes: Pick<Sandboxes, 'probes'>,
  bundles: readonly string[],
  actor: Actor,
): Promise<object> {
  const probes = await sandboxes.probes();
  return {
    agents: ['embedded', ...Object.keys(settings.agents.known).filter((name) => name !== 'embedded')],
    models: [...new Set(Object.values(settings.providers).flatMap((provider) => Object.keys(provider.prices ?? {})))],
    drivers: probes.map(({ driver, available, level, missing, notes }) => ({
      driver,
      available,
      ...(level && { level }),
      missing,
      notes,
    })),
    bundles: bundles.filter((slug) => !actor.bundles || actor.bundles.includes(slug)),
    defaults: {
      agent: settings.agents.default,
      sandbox: { driver: settings.sandbox.driver, level: settings.sandbox.level, egress: [] },
      limits: { depth: settings.limits.depth, agents: settings.limits.agents, cost_usd: settings.limits.costUsd },
      bundles: defaultBundles,
    },
  };
}
