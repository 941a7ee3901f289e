import { randomUUID } from 'node:crypto';
import { Readable, Writable } from 'node:stream';
import {
  agent,
  ndJsonStream,
  PROTOCOL_VERSION,
  RequestError,
  type AgentContext,
  type McpServer,
  type SessionUpdate,
} from '@agentclientprotocol/sdk';
import { jsonText } from '../../schema/json.ts';
import { mcpTools, type McpTools } from './mcp-tools.ts';
import type { ProgramPort, ToolAnswer } from './program-port.ts';

const help = `I run each message as a program in Python; every tool is a function with keyword arguments.
tools() lists them. Examples:
  1 + 1
  run(code="ot.packs()")
The value of the last line is the answer.`;

interface Session {
  tools: McpTools;
  running?: AbortController;
  calls: number;
  prefix: string;
}

/** Serves one ACP client on stdin and stdout; resolves when it hangs up. */
export async function serveEmbeddedAgent(programs: ProgramPort): Promise<void> {
  const sessions = new Map<string, Session>();
  const open = (id: string, servers: McpServer[]): void => {
    const old = sessions.get(id);
    // A session may be taken up by another process: its calls must not have the names of earlier ones.
    sessions.set(id, { tools: mcpTools(servers), calls: 0, prefix: randomUUID().slice(0, 8) });
    void old?.tools.close();
  };

  const connection = agent({ name: 'oubliette-embedded-agent' })
    .onRequest('initialize', () => ({
      protocolVersion: PROTOCOL_VERSION,
      agentInfo: { name: 'oubliette-embedded-agent', version: '1' },
      agentCapabilities: { loadSession: true, sessionCapabilities: { resume: {} } },
      authMethods: [],
    }))
    .onRequest('session/new', ({ params }) => {
      const sessionId = randomUUID();
      open(sessionId, params.mcpServers);
      return { sessionId };
    })
    // Programs leave nothing behind that a later one would need: to resume is to have the same tools again.
    .onRequest('session/load', ({ params }) => (open(params.sessionId, params.mcpServers), {}))
    .onRequest('session/resume', ({ params }) => (open(params.sessionId, params.mcpServers ?? []), {}))
    .onRequest('session/prompt', async ({ params, client }) => {
      const session = sessions.get(params.sessionId);
      if (!session) throw RequestError.invalidParams({ details: `there is no session ${params.sessionId}` });
      if (session.running) throw RequestError.invalidRequest({ details: 'a program is running already' });
      const code = params.prompt.map((block) => (block.type === 'text' ? block.text : '')).join('');
      session.running = new AbortController();
      try {
        const text = await answer(programs, session, code, client, params.sessionId);
        await say(client, params.sessionId, { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });
        return { stopReason: 'end_turn' };
      } catch (error) {
        if (session.running.signal.aborted) return { stopReason: 'cancelled' };
        throw error;
      } finally {
        delete session.running;
      }
    })
    .onNotification('session/cancel', ({ params }) => sessions.get(params.sessionId)?.running?.abort())
    .connect(
      ndJsonStream(
        Writable.toWeb(process.stdout) as WritableStream<Uint8Array>,
        Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>,
      ),
    );

  await connection.closed;
  for (const { running, tools } of sessions.values()) {
    running?.abort();
    await tools.close();
  }
}

const say = (client: AgentContext, sessionId: string, update: SessionUpdate): Promise<void> =>
  client.notify('session/update', { sessionId, update });

async function answer(
  programs: ProgramPort,
  session: Session,
  code: string,
  client: AgentContext,
  sessionId: string,
): Promise<string> {
  let known: Map<string, unknown> | undefined;
  const call = async (name: string, args: Record<string, unknown>, signal: AbortSignal): Promise<ToolAnswer> => {
    const toolCallId = `call_${session.prefix}_${++session.calls}`;
    await say(client, sessionId, {
      sessionUpdate: 'tool_call',
      toolCallId,
      title: name,
      name,
      rawInput: args,
      status: 'in_progress',
    });
    const outcome = await session.tools.call(name, args, signal);
    const text = 'error' in outcome ? outcome.error : jsonText(outcome.value);
    await say(client, sessionId, {
      sessionUpdate: 'tool_call_update',
      toolCallId,
      status: 'error' in outcome ? 'failed' : 'completed',
      content: [{ type: 'content', content: { type: 'text', text } }],
    });
    return outcome;
  };
  const result = await programs.run({
    code,
    tools: async (fresh) => (fresh || !known ? (known = await session.tools.list()) : known),
    call,
    signal: session.running!.signal,
  });
  if (result.ok || result.isProgram) return result.text;
  return `${help}\n\n${result.text}`;
}
