// Tools that the program which started a session lends to its agent. May import: schema.
import { fail, longestTimerMs, type CallerDeclaration, type Source, type ToolView } from '../../schema/index.ts';

export type CallerAnswer =
  | { outcome: 'result'; value: unknown }
  | { outcome: 'error'; message: string }
  | { outcome: 'timeout'; timeoutMs: number }
  | { outcome: 'disconnected' }
  | { outcome: 'choice'; choice: string };

/** Stores the question for the caller and resolves with how it ended. */
export type AskCaller = (tool: string, args: unknown, signal: AbortSignal) => Promise<CallerAnswer>;

/** What `gate.callDeclared` needs to pass one declared tool through the gate; undefined when it is not declared. */
export function callerTool(
  sessionId: string,
  declaration: CallerDeclaration,
  name: string,
  ask: AskCaller,
): { tool: ToolView; source: Source } | undefined {
  const declared = declaration.caller_tools.find((each) => each.name === name);
  return declared && { tool: viewOf(sessionId, declaration, declared), source: callerSource(name, ask) };
}

function callerSource(tool: string, ask: AskCaller): Source {
  return {
    check: () => {},
    level: () => 'read',
    async run(_, args, call) {
      const answer = await ask(tool, args, call.signal);
      switch (answer.outcome) {
        case 'result':
          return { value: answer.value };
        case 'error':
          throw fail('caller.failed', { reason: answer.message });
        case 'timeout':
          throw fail('caller.timeout', { seconds: answer.timeoutMs / 1000 });
        default:
          throw fail('caller.disconnected');
      }
    },
  };
}

/** The deadline of the question is the caller's; the gate's own lies well behind it. */
const graceMs = 60_000;
// One object, so that its compiled form is found by it.
const anyObject = { type: 'object' };

function viewOf(
  sessionId: string,
  { caller_id, timeout_ms }: CallerDeclaration,
  { name, description, inputSchema }: CallerDeclaration['caller_tools'][number],
): ToolView {
  const now = new Date().toISOString();
  return {
    id: `${sessionId}/${name}`,
    slug: name,
    version: 'v1',
    bundleID: sessionId,
    bundleSlug: caller_id,
    name: `${caller_id}_${name}`,
    displayName: name,
    description: description ?? '',
    type: 'function',
    level: 'read',
    isEnabled: true,
    isBuiltIn: false,
    argSchema: inputSchema ?? anyObject,
    limits: { timeoutMs: Math.min(timeout_ms + graceMs, longestTimerMs) },
    usage: { callCount: 0 },
    createdAt: now,
    modifiedAt: now,
    schemaVersion: 1,
  };
}
