/** The state of a session; the last three are final until a new message resumes it. */
export type SessionStatus = 'starting' | 'running' | 'idle' | 'ended' | 'failed' | 'timed_out';

export type CallerOutcome = 'result' | 'error' | 'timeout' | 'disconnected';

/** A choice that a permission request offers. */
export interface PermissionOption {
  id: string;
  name: string;
  kind?: string;
}

/** What an event says, by type; the log adds index, time, session and turn. */
export type EventBody =
  | { type: 'status'; status: SessionStatus; reason?: string }
  | {
      type: 'message';
      role: 'user' | 'agent';
      text: string;
      message_id: string;
      attachments?: { blob_id: string; name: string }[];
    }
  | { type: 'thought'; text: string }
  | { type: 'tool_call'; call_id: string; tool: string; arguments: unknown }
  | { type: 'tool_result'; call_id: string; is_error: boolean; text: string }
  | { type: 'plan'; entries: unknown[] }
  | { type: 'permission_request'; request_id: string; tool: string; options: PermissionOption[]; deadline: string }
  | { type: 'permission_answer'; request_id: string; choice: string }
  | { type: 'caller_tool_request'; request_id: string; tool: string; arguments: unknown; deadline: string }
  | { type: 'caller_tool_answer'; request_id: string; outcome: CallerOutcome }
  | { type: 'child'; child_session_id: string; status: SessionStatus }
  | { type: 'usage'; input_tokens: number; output_tokens: number; cost_usd: number }
  | { type: 'completion'; stop_reason: string; text: string }
  | { type: 'error'; code: string; message: string };

/** An event as it is stored and sent: `index` is gapless from 0 within its session. */
export type SessionEvent = { index: number; at: string; session_id: string; turn: number } & EventBody;

/** A piece of a message or thought, shown live and never stored. */
export interface Delta {
  type: 'delta';
  session_id: string;
  turn: number;
  of: 'message' | 'thought';
  text: string;
}

/** A tool that the program which started a session lends to its agent. */
export interface CallerTool {
  name: string;
  description?: string;
  inputSchema?: object;
}

/** What a caller declares with a message; a later declaration replaces it whole. */
export interface CallerDeclaration {
  caller_id: string;
  caller_tools: CallerTool[];
  on_disconnect: 'fail' | 'wait';
  timeout_ms: number;
  inherit: boolean;
}
