import { compileSchema, fail, Failure, type CallerDeclaration, type CallerTool } from '../schema/index.ts';

const word = /^[A-Za-z0-9_-]{1,64}$/;
/** Names that the client in the sandbox has already. */
const baseTools = ['session_message', 'session_events', 'run'];
const longestName = 128;

/** What a message says about its caller, in `context` or at top level. */
export interface CallerArgs {
  caller_id?: string | null;
  caller_tools?: CallerTool[] | null;
  on_disconnect?: 'fail' | 'wait' | null;
  timeout_ms?: number | null;
  inherit?: boolean | null;
}

/**
 * The declaration in a message, or undefined when it has none. Throws request.invalid for names that could not be
 * registered or would hide other tools, and for schemas that do not compile.
 */
export function declarationOf(
  top: CallerArgs,
  context: CallerArgs | undefined,
  defaultTimeoutMs: number,
): CallerDeclaration | undefined {
  const given = { ...present(top), ...present(context ?? {}) };
  if (Object.keys(given).length === 0) return undefined;
  const callerId = given.caller_id;
  if (callerId === undefined) throw invalid('caller_id', 'caller tools need a caller_id');
  if (!word.test(callerId)) throw invalid('caller_id', 'caller_id is letters, digits, _ and -, at most 64 of them');
  if (callerId === 'oubliette' || callerId.startsWith('oubliette_'))
    throw invalid('caller_id', "caller_id oubliette is the server's own");
  const tools = given.caller_tools ?? [];
  const seen = new Set<string>();
  for (const [index, tool] of tools.entries()) checkTool(callerId, tool, `caller_tools/${index}`, seen);
  return {
    caller_id: callerId,
    caller_tools: tools.map((tool) => ({ ...tool })),
    on_disconnect: given.on_disconnect ?? 'fail',
    timeout_ms: given.timeout_ms ?? defaultTimeoutMs,
    inherit: given.inherit ?? false,
  };
}

function checkTool(callerId: string, tool: CallerTool, path: string, seen: Set<string>): void {
  if (!word.test(tool.name))
    throw invalid(
      path,
      `${JSON.stringify(tool.name)} is no tool name: use letters, digits, _ and -, at most 64 of them`,
    );
  const full = `${callerId}_${tool.name}`;
  if (full.length > longestName) throw invalid(path, `${full} is longer than ${longestName} characters`);
  if (full.startsWith('oubliette_') || baseTools.includes(full))
    throw invalid(path, `${full} would hide a tool of the server`);
  if (seen.has(full)) throw invalid(path, `${tool.name} is declared twice`);
  seen.add(full);
  if (tool.inputSchema === undefined) return;
  try {
    compileSchema(tool.inputSchema);
  } catch (error) {
    throw invalid(
      `${path}/inputSchema`,
      `the schema of ${tool.name} cannot be used: ${error instanceof Failure ? error.message : String(error)}`,
    );
  }
  const { type } = tool.inputSchema as { type?: string | string[] };
  if (type !== undefined && ![type].flat().includes('object'))
    throw invalid(`${path}/inputSchema`, `the schema of ${tool.name} must be of type object: arguments have names`);
}

/** An explicit null counts as absent. */
function present(args: CallerArgs): { [K in keyof CallerArgs]?: NonNullable<CallerArgs[K]> } {
  const keys = ['caller_id', 'caller_tools', 'on_disconnect', 'timeout_ms', 'inherit'] as const;
  return Object.fromEntries(
    keys.filter((key) => args[key] !== undefined && args[key] !== null).map((key) => [key, args[key]]),
  );
}

function invalid(path: string, reason: string): Failure {
  return fail('request.invalid', { reason }, { details: [{ path: `/args/${path}`, message: reason }] });
}
