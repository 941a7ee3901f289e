import { Option } from 'commander';
import type { Cli } from '../cli.ts';
import { define, group, wholeNumber, type Setting } from '../define.ts';
import { sessionFrames } from '../event-stream.ts';
import { Silent } from '../failure.ts';
import { columns, shortTime } from '../output.ts';
import { eventLine, isSessionEnd, isTurnEnd, isWithoutAnswer, sessionStates, type WireEvent } from '../session-view.ts';
import { projectId } from './projects.ts';

interface SessionRow {
  id: string;
  project_id: string;
  status: string;
  agent: string;
  turn: number;
  updated_at: string;
}

export interface Sent {
  session_id: string;
  workspace_id: string;
  spawned: boolean;
  turn: number;
  last_event_index: number;
}

export function addSessions(setting: Setting): void {
  const session = group(setting, 'session', 'agents at work');
  define(setting, session, {
    usage: 'list',
    summary: 'list the sessions',
    examples: ['oubliette session list --project demo', 'oubliette session list --status idle --json'],
    options: [
      new Option('--project <project>', 'only of this project'),
      new Option('--status <status>', 'only in this state').choices(sessionStates),
    ],
    async run(cli, _args, options: { project?: string; status?: string }) {
      const sessions = await cli.rows<SessionRow>('session_list', 'sessions', {
        ...(options.project && { project_id: await projectId(cli, options.project) }),
        ...(options.status && { status: options.status }),
      });
      cli.print({ sessions }, () =>
        sessions.length === 0
          ? 'There are no sessions.'
          : columns(
              sessions.map((each) => [
                each.id,
                each.status,
                each.agent,
                `turn ${each.turn}`,
                shortTime(each.updated_at),
              ]),
            ),
      );
    },
  });
  const sendOptions = [
    new Option('--agent <name>', 'which agent'),
    new Option('--model <name>', 'which model'),
    new Option('--permissions <policy>', 'what happens to permission requests').choices(['auto', 'deny', 'ask']),
    new Option('--follow', 'print what happens until the turn is over'),
  ];
  define(setting, session, {
    usage: 'spawn <project> <message>',
    summary: 'start a session with a first message; - reads it from standard input',
    options: sendOptions,
    examples: [
      `oubliette session spawn demo '1 + 1' --follow`,
      `oubliette session spawn demo 'run(code="ot.packs()")' --follow`,
    ],
    async run(cli, [project, message], options: SendOptions) {
      await send(cli, 'session_spawn', { project_id: await projectId(cli, project) }, message, options);
    },
  });
  define(setting, session, {
    usage: 'message <session-id> <message>',
    summary: 'send a message to a session',
    examples: [`oubliette session message ses_... 'tools()' --follow`],
    options: sendOptions,
    async run(cli, [id, message], options: SendOptions) {
      await send(cli, 'session_message', { session_id: id }, message, options);
    },
  });
  define(setting, session, {
    usage: 'follow <session-id>',
    summary: 'print the events of a session as they come; Ctrl-C ends that',
    examples: ['oubliette session follow ses_...', 'oubliette session follow ses_... --after 10 --json'],
    options: [
      new Option('--after <index>', 'only events after this one').default(-1).argParser(wholeNumber(-1)),
      new Option('--turn', 'stop when the session is idle'),
    ],
    async run(cli, [id], options: { after: number; turn?: boolean }) {
      const { turn } = options.turn
        ? await cli.call<SessionRow>('session_get', { session_id: id })
        : { turn: Infinity };
      await follow(cli, id, options.after, turn);
    },
  });
  byId(setting, session, 'show', 'print one session', 'session_get');
  byId(setting, session, 'cancel', 'stop the running turn', 'session_cancel');
  byId(setting, session, 'end', 'end a session and its processes', 'session_end');
}

interface SendOptions {
  agent?: string;
  model?: string;
  permissions?: string;
  follow?: boolean;
}

async function send(
  cli: Cli,
  tool: string,
  target: Record<string, string>,
  message: string,
  options: SendOptions,
): Promise<void> {
  const { agent, model, permissions } = options;
  const text = message === '-' ? await cli.stdin('the message') : message;
  const sent = await cli.call<Sent>(tool, {
    ...target,
    message: text,
    ...(agent && { agent }),
    ...(model && { model }),
    ...(permissions && { permissions }),
  });
  if (!options.follow)
    return cli.print(
      sent,
      () => `${sent.session_id} (turn ${sent.turn}). Watch it: oubliette session follow ${sent.session_id}`,
    );
  if (cli.isJson) cli.say(JSON.stringify(sent));
  await follow(cli, sent.session_id, sent.last_event_index, sent.turn);
}

/** Prints events until the turn is over, the session has ended or the person has seen enough. */
async function follow(cli: Cli, sessionId: string, after: number, turn: number): Promise<void> {
  const enough = new AbortController();
  // A terminal and our launcher both send it: the second one must not end us in the middle of ending.
  process.on('SIGINT', () => enough.abort());
  let isBroken = false;
  // An ended session may have been taken up again: only what stands last is the end.
  let newest = -1;
  try {
    for await (const frame of sessionFrames(await cli.server(), sessionId, after, enough.signal)) {
      if (frame.event === 'hello') newest = (JSON.parse(frame.data) as { newest: number }).newest;
      if (frame.id === undefined) continue;
      const event = JSON.parse(frame.data) as WireEvent;
      const line = cli.isJson ? frame.data : eventLine(event, cli.paint);
      if (line !== undefined) cli.say(line);
      isBroken ||= event.turn >= turn && event.type === 'error';
      if (isTurnEnd(event, turn) || (isSessionEnd(event) && event.index >= newest)) {
        if (isBroken && isWithoutAnswer(event)) throw new Silent(1);
        return;
      }
    }
  } finally {
    enough.abort();
  }
}

function byId(setting: Setting, parent: ReturnType<typeof group>, verb: string, summary: string, tool: string): void {
  define(setting, parent, {
    usage: `${verb} <session-id>`,
    summary,
    examples: [`oubliette session ${verb} ses_...`],
    async run(cli, [id]) {
      const answer = await cli.call<{ id: string; status: string }>(tool, { session_id: id });
      cli.print(answer, () => (verb === 'show' ? cli.readable(answer) : `${answer.id} is ${answer.status}.`));
    },
  });
}
