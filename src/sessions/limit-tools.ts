import type { Project } from '../projects/index.ts';
import { fail, offerTool, type Actor, type BuiltInBundle } from '../schema/index.ts';
import type { SessionRow } from '../store/index.ts';
import { treeLimits } from './limits.ts';
import type { SessionPorts } from './ports.ts';
import { visible } from './reach.ts';
import type { Sessions } from './sessions.ts';

/** config_limits: what a tree of sessions may use, what it has used, and what is left. */
export function configTools(ports: SessionPorts): BuiltInBundle {
  return {
    slug: 'config',
    displayName: 'Limits',
    description: 'What sessions may use.',
    isOwn: true,
    tools: [
      offerTool({
        slug: 'limits',
        description:
          'Show the limits on depth, agents and cost, what is used and what remains: of a session, a project, or by default.',
        level: 'read',
        argSchema: {
          type: 'object',
          additionalProperties: false,
          properties: {
            project_id: { type: 'string', description: 'Limits of this project.' },
            session_id: { type: 'string', description: 'Limits and use of the tree of this session.' },
          },
        },
        returns: '{max_depth, max_agents, max_cost_usd, used, remaining, sandbox}',
        example: 'config.limits()',
        run: (given, call) => limits(ports, call.actor, given),
      }),
    ],
  };
}

async function limits(
  ports: SessionPorts,
  actor: Actor,
  given: { project_id?: string; session_id?: string },
): Promise<object> {
  const session = await sessionAsked(ports, actor, given);
  const project = await projectAsked(ports, actor, session, given.project_id);
  const now = ports.settings();
  const root = session && (await rootProject(ports, session));
  const most = project
    ? treeLimits(root, project)
    : { depth: now.limits.depth, agents: now.limits.agents, cost_usd: now.limits.costUsd };
  const tree = session && (await ports.tables.tree(session.root_id));
  const used = { depth: session?.depth ?? 0, agents: tree?.agents ?? 0, cost_usd: tree?.cost_usd ?? 0 };
  const left = (key: keyof typeof used): number => Math.max(0, most[key] - used[key]);
  return {
    max_depth: most.depth,
    max_agents: most.agents,
    max_cost_usd: most.cost_usd,
    used,
    remaining: { depth: left('depth'), agents: left('agents'), cost_usd: left('cost_usd') },
    sandbox: project ? await sandboxOf(ports, project) : { driver: now.sandbox.driver, level: now.sandbox.level },
  };
}

async function sessionAsked(
  ports: SessionPorts,
  actor: Actor,
  given: { project_id?: string; session_id?: string },
): Promise<SessionRow | undefined> {
  if (given.session_id !== undefined) {
    const row = await visible(ports, actor, given.session_id);
    if (given.project_id !== undefined && given.project_id !== row.project_id)
      throw fail('session.not_found', { ref: given.session_id });
    return row;
  }
  return given.project_id === undefined && actor.sessionId !== undefined
    ? ports.tables.get(actor.sessionId)
    : undefined;
}

async function projectAsked(
  ports: SessionPorts,
  actor: Actor,
  session: SessionRow | undefined,
  projectId: string | undefined,
): Promise<Project | undefined> {
  if (session) return ports.projects.load(session.project_id);
  return projectId === undefined ? undefined : ports.projects.get(actor, projectId);
}

async function rootProject(ports: SessionPorts, session: SessionRow): Promise<Project | undefined> {
  const root = await ports.tables.get(session.root_id);
  return root && ports.projects.load(root.project_id);
}

async function sandboxOf(ports: SessionPorts, project: Project): Promise<object> {
  try {
    const { driver, probe } = await ports.projects.sandboxFor(project);
    return { driver: driver.name, level: probe.level };
  } catch {
    return { driver: 'none', level: 'none' };
  }
}

const id = (description: string) => ({ type: 'string', description }) as const;

/** caller_tool_response: the caller answers a request of its agent. */
export function callerTools(sessions: Sessions): BuiltInBundle {
  return {
    slug: 'caller',
    displayName: 'Caller tools',
    description: 'Answers of the program that started a session to the calls of its agent.',
    isOwn: true,
    tools: [
      offerTool({
        slug: 'tool-response',
        description: 'Answer a caller_tool_request event with a result or an error.',
        level: 'write',
        argSchema: {
          type: 'object',
          additionalProperties: false,
          required: ['session_id', 'request_id'],
          properties: {
            session_id: id('Session of the event.'),
            request_id: id('request_id of the event.'),
            result: { description: 'What the tool gave back; any JSON value.' },
            error: {
              anyOf: [{ type: 'string' }, { type: 'null' }],
              description: 'Why the tool failed; instead of a result.',
            },
          },
        },
        returns: '{request_id, accepted: true}',
        example: 'caller.tool_response(session_id="ses_...", request_id="ask_...", result={"status": "sent"})',
        run: async (given, call) => {
          const hasResult = given.result !== undefined && given.result !== null;
          const error = given.error ?? undefined;
          if (hasResult && error !== undefined)
            throw fail('request.invalid', { reason: 'give a result or an error, not both' });
          await sessions.answerCaller(
            call.actor,
            given.session_id,
            given.request_id,
            error === undefined ? { result: given.result } : { error },
          );
          return { request_id: given.request_id, accepted: true };
        },
      }),
    ],
  };
}
