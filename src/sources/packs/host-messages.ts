/** What the server tells a pack's process. */
export type ToHost =
  | { type: 'load'; file: string; drop?: { uid: number; gid: number } }
  | { type: 'call'; id: number; name: string; args: Record<string, unknown>; about: CallAbout }
  | { type: 'cancel'; id: number }
  | { type: 'reply'; id: number; ask: number; ok: boolean; value: unknown };

/** What a pack's process tells the server. */
export type FromHost =
  | { type: 'loaded'; bundle: unknown; tools: { name: string; info: unknown }[] }
  | { type: 'broken'; message: string; stack: string }
  | { type: 'done'; id: number; ok: true; json: string }
  | { type: 'done'; id: number; ok: false; message: string; stack: string }
  | { type: 'cancelled'; id: number }
  | { type: 'ask'; id: number; ask: number; what: 'invoke' | 'list'; name?: string; args?: Record<string, unknown> }
  | { type: 'progress'; id: number; progress: { progress: number; total?: number; message?: string } }
  | {
      type: 'log';
      id: number;
      level: 'debug' | 'info' | 'warn' | 'error';
      message: string;
      fields: Record<string, unknown>;
    };

export interface CallAbout {
  actor: { principal: string; level: string; door: string };
  tool: { name: string; slug: string; bundleSlug: string };
  requestId: string;
}
