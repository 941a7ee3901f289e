import { eventStream, type EventStream, type Frame } from './event-stream.ts';
import { rawRelay, type RawRelay } from './relay-socket.ts';
import type { TestServer } from './server.ts';
import { turn, value } from './session.ts';

export interface LentSession {
  sessionId: string;
  relay: RawRelay;
  /** Answers a question of the agent, as the owner unless told otherwise. */
  respond(requestId: string, answer: object, token?: string): Promise<{ status: number; body: any }>;
  /** Sends a message of the owner and waits for its turn. */
  send(args: Record<string, unknown>): Promise<string>;
  /** A stream of the owner, or of another token. */
  follow(token?: string): Promise<EventStream>;
  close(): void;
}

/** A session of `owner` in a workspace of its own, whose caller lends tools, with a raw client on its socket. */
export async function lentSession(
  server: TestServer,
  projectId: string,
  owner: string,
  context: Record<string, unknown>,
  more: Record<string, unknown> = {},
): Promise<LentSession> {
  const start = { project_id: projectId, create_workspace: true, message: '1', context, ...more };
  const { sessionId } = await turn(server, start, owner);
  const relay = await rawRelay((await value(server, 'session_get', { session_id: sessionId })).relay_socket);
  const streams: EventStream[] = [];
  return {
    sessionId,
    relay,
    respond: (request_id, answer, token = owner) =>
      server.ask(
        'POST',
        '/call/caller_tool_response',
        { args: { session_id: sessionId, request_id, ...answer } },
        token,
      ),
    send: async (args) => (await turn(server, { session_id: sessionId, ...args }, owner)).text,
    async follow(token = owner) {
      const stream = await eventStream(server, sessionId, token);
      streams.push(stream);
      return stream;
    },
    close() {
      relay.close();
      for (const stream of streams) stream.close();
    },
  };
}

/** The next question to the caller on a stream. */
export const questionOn = (stream: EventStream, tool: string): Promise<Frame> =>
  stream.next((frame) => frame.event === 'caller_tool_request' && frame.data.tool === tool);
