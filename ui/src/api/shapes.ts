// Answers of the server's own tools as this page reads them. Catalog shapes come from the server's schema room.
import type { Bundle as StoredBundle } from '../../../src/schema/bundle.ts';
import type { ToolBody, ToolView } from '../../../src/schema/tool.ts';

export type { ToolBody, ToolView };

export type Bundle = StoredBundle & { toolCount?: number };
export type { HttpAuth, HttpImpl } from '../../../src/schema/tool.ts';

export type JsonSchema = object | boolean;

export interface FoundTool extends ToolView {
  match: { tier: 'prefix' | 'word' | 'fuzzy'; field: string };
}

export interface Project {
  id: string;
  name: string;
  description?: string;
  status: string;
  agent: string;
  sandbox?: { driver?: string; level?: string };
  default_workspace_id: string;
  limits?: Record<string, number>;
  bundles?: string[];
  created_at: string;
}

export interface Session {
  id: string;
  project_id: string;
  workspace_id: string;
  parent_id?: string | null;
  depth: number;
  status: string;
  agent: string;
  model?: string | null;
  owner?: string;
  turn: number;
  last_event_index: number;
  usage?: Usage;
  pending_asks?: unknown;
  caller_id?: string | null;
  error?: { code?: string; message?: string } | string | null;
  created_at: string;
  updated_at: string;
}

export interface Usage {
  input_tokens?: number;
  output_tokens?: number;
  cost_usd?: number;
}

export interface SessionEvent {
  index: number;
  type: string;
  at: string;
  session_id: string;
  turn: number;
  [field: string]: unknown;
}

export interface Token {
  id: string;
  name: string;
  scope: 'read' | 'write' | 'admin';
  projects?: string[] | null;
  bundles?: string[] | null;
  expires_at?: string | null;
  created_at: string;
  last_used_at?: string | null;
  revoked?: boolean;
}
