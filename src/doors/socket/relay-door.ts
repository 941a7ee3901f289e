import type { Tokens } from '../../auth/index.ts';
import type { Gate } from '../../gate/index.ts';
import type { Asks } from '../../log/index.ts';
import type { BoxDoor, Sessions } from '../../sessions/index.ts';
import { callerTool } from '../../sources/caller/index.ts';
import { socketDoor } from './socket-door.ts';

export interface RelayDoorDeps {
  gate: Gate;
  tokens: Tokens;
  sessions: Sessions;
  asks: Asks;
  workspaceOf: (sessionId: string) => Promise<string>;
  reconnectGraceMs: () => number;
}

/** The socket of every sandbox, on top of sessions and their asks. */
export function relayDoor({ gate, tokens, sessions, asks, workspaceOf, reconnectGraceMs }: RelayDoorDeps): BoxDoor {
  return socketDoor({
    gate,
    authenticate: async (secret) => tokens.authenticate(secret, 'socket'),
    session: async (id) => {
      const actor = await sessions.actorOf(id);
      return { actor: { ...actor, sessionId: id, projectId: actor.projectId! }, workspaceId: await workspaceOf(id) };
    },
    touch: (id) => sessions.touch(id),
    declared: async (id) => {
      const caller = await sessions.callerFor(id);
      return { caller_id: caller?.declaration.caller_id ?? '', tools: caller?.declaration.caller_tools ?? [] };
    },
    onDeclared: (listener) => sessions.onDeclared(listener),
    reconnectGraceMs,
    callerTool: async (id, name, key) => {
      const caller = await sessions.callerFor(id);
      if (!caller) return undefined;
      const { sessionId, owner, turn, declaration } = caller;
      return callerTool(id, declaration, name, async (tool, args, signal) => {
        const { timeout_ms: timeoutMs, on_disconnect: onDisconnect } = declaration;
        // By the call's own id, a question that is sent again is the same question.
        const question = { sessionId, owner, turn, tool, timeoutMs, onDisconnect, arguments: args };
        const ask = await asks.askCaller(key === undefined ? question : { ...question, key });
        return asks.wait(sessionId, ask.id, signal);
      });
    },
  });
}
