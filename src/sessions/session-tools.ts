import { argsOf, offerTool, type BuiltInBundle, type PageTokens } from '../schema/index.ts';
import { messageSchema, spawnSchema } from './message-schema.ts';
import type { SessionPorts } from './ports.ts';
import { sessionView } from './session-view.ts';
import type { Sessions } from './sessions.ts';

const statuses = ['starting', 'running', 'idle', 'ended', 'failed', 'timed_out'] as const;
const sessionId = { type: 'string', description: 'Id of the session, ses_...' } as const;
const pageSize = 100;

interface Wanted {
  project_id?: string;
  status?: string;
  root_id?: string;
  /** Where the page before ended. */
  before?: string;
}

/** session_list, _get, _events, _message, _spawn, _cancel, _answer, _end, _cleanup. */
export function sessionTools(sessions: Sessions, ports: SessionPorts, pages: PageTokens): BuiltInBundle {
  return {
    slug: 'session',
    displayName: 'Sessions',
    description: 'Agents at work: start one, talk to it, follow its events, end it.',
    isOwn: true,
    tools: [
      offerTool({
        slug: 'list',
        description: 'List sessions, newest first.',
        level: 'read',
        argSchema: argsOf({
          project_id: { type: 'string', description: 'Only sessions of this project.' },
          status: { enum: statuses, description: 'Only sessions with this status.' },
          tree_of: {
            type: 'string',
            description: 'Only this session and its relatives: who started it, and all that they started.',
          },
          page_token: { type: 'string', description: 'next_page_token of the page before.' },
        }),
        returns: '{sessions: [session], next_page_token?}',
        example: 'session.list(status="idle")',
        run: async ({ page_token, tree_of, ...filter }, call) => {
          const { before, ...wanted }: Wanted =
            page_token === undefined
              ? { ...filter, ...(tree_of && { root_id: (await sessions.get(call.actor, tree_of)).root_id }) }
              : pages.read('session_list', page_token);
          const rows = await sessions.list(call.actor, wanted, {
            limit: pageSize + 1,
            ...(before !== undefined && { before }),
          });
          const page = rows.slice(0, pageSize);
          return {
            sessions: await Promise.all(page.map((row) => sessionView(ports, row, call.actor))),
            ...(rows.length > page.length && {
              next_page_token: pages.make('session_list', { ...wanted, before: page.at(-1)!.id }),
            }),
          };
        },
      }),
      offerTool({
        slug: 'get',
        description: 'Show one session: its status, turn, usage, open requests and caller.',
        level: 'read',
        argSchema: argsOf({ session_id: sessionId }, ['session_id']),
        returns: 'the session',
        example: 'session.get(session_id="ses_...")',
        run: async ({ session_id }, call) => sessionView(ports, await sessions.get(call.actor, session_id), call.actor),
      }),
      offerTool({
        slug: 'events',
        description: 'Read events of a session after an index; poll again with last_index.',
        level: 'read',
        argSchema: argsOf(
          {
            session_id: sessionId,
            since_index: {
              type: 'integer',
              minimum: -1,
              default: -1,
              description: 'Index of the last event already seen; -1 for all.',
            },
            max_events: {
              type: 'integer',
              minimum: 1,
              default: 100,
              description: 'At most this many; never more than 1000.',
            },
          },
          ['session_id'],
        ),
        returns: '{session_id, status, events, last_index, has_more}',
        example: 'session.events(session_id="ses_...", since_index=4)',
        run: ({ session_id, since_index, max_events }, call) =>
          sessions.events(call.actor, session_id, since_index, Math.min(max_events, 1000)),
      }),
      offerTool({
        slug: 'message',
        description:
          'Send a message to an agent: to a session, or to a project, where the live session of the workspace goes on or a new one is started.',
        level: 'write',
        argSchema: messageSchema,
        returns: '{session_id, workspace_id, spawned, turn, last_event_index}',
        example: 'session.message(project_id="proj_...", message="Say hello")',
        run: (given, call) => sessions.message(call.actor, given),
      }),
      offerTool({
        slug: 'spawn',
        description: 'Start a new session in a project with its first message.',
        level: 'write',
        argSchema: spawnSchema,
        returns: '{session_id, workspace_id, spawned, turn, last_event_index}',
        example: 'session.spawn(project_id="proj_...", message="Say hello")',
        run: (given, call) => sessions.spawn(call.actor, given),
      }),
      offerTool({
        slug: 'cancel',
        description: 'Stop the turn that runs.',
        level: 'write',
        argSchema: argsOf({ session_id: sessionId }, ['session_id']),
        returns: '{id, status}',
        example: 'session.cancel(session_id="ses_...")',
        run: async ({ session_id }, call) => ({
          id: session_id,
          status: await sessions.cancel(call.actor, session_id),
        }),
      }),
      offerTool({
        slug: 'answer',
        description: 'Answer a permission request of the agent with one of its options.',
        level: 'write',
        argSchema: argsOf(
          {
            session_id: sessionId,
            request_id: { type: 'string', description: 'request_id of the permission_request event.' },
            choice: { type: 'string', description: 'Id of the chosen option.' },
          },
          ['session_id', 'request_id', 'choice'],
        ),
        returns: '{request_id, accepted: true}',
        example: 'session.answer(session_id="ses_...", request_id="ask_...", choice="allow")',
        run: async (given, call) => {
          await sessions.answer(call.actor, given.session_id, given.request_id, given.choice);
          return { request_id: given.request_id, accepted: true };
        },
      }),
      offerTool({
        slug: 'end',
        description: 'End a session and its children; answers when their processes are gone.',
        level: 'write',
        argSchema: argsOf({ session_id: sessionId }, ['session_id']),
        returns: '{id, status: "ended"}',
        example: 'session.end(session_id="ses_...")',
        run: async ({ session_id }, call) => {
          await sessions.end(call.actor, session_id);
          return { id: session_id, status: 'ended' };
        },
      }),
      offerTool({
        slug: 'cleanup',
        description: 'Delete finished sessions with their logs.',
        level: 'write',
        argSchema: argsOf({
          project_id: { type: 'string', description: 'Only sessions of this project.' },
          max_age_hours: {
            type: 'number',
            minimum: 0,
            default: 24,
            description: 'Only sessions that finished longer ago than this.',
          },
        }),
        returns: '{deleted: n}',
        example: 'session.cleanup(max_age_hours=48)',
        run: async ({ project_id, max_age_hours }, call) => ({
          deleted: await sessions.cleanup(call.actor, {
            ...(project_id !== undefined && { project_id }),
            maxAgeMs: max_age_hours * 3600_000,
          }),
        }),
      }),
    ],
  };
}
