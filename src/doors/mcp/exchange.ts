import type { Actor, CallOptions, Progress } from '../../schema/index.ts';
import type { Menu } from './menu.ts';

export type Era = 'modern' | 'legacy';
export type JsonObject = Record<string, unknown>;
export type RequestId = string | number;

/** What a client can be asked for, as it declared it. */
export type ClientCapabilities = Record<string, JsonObject | undefined>;

/** One request being served: who asks, on which menu, and how to say something before the answer. */
export interface Exchange {
  readonly actor: Actor;
  readonly menu: Menu;
  readonly era: Era;
  readonly signal: AbortSignal;
  /** The same, or how to come by it, for those who may never listen. */
  readonly handedOn?: CallOptions['signal'];
  readonly clientCapabilities: ClientCapabilities;
  /** Set when the client wants progress. */
  readonly progressToken?: RequestId;
  /** Log entries below this level are not wanted; undefined in the 2026 era means none are. */
  readonly logLevel?: string;
  notify(method: string, params: JsonObject): void;
  /** 2025 era: a request to the client on this exchange's stream. */
  ask?(method: string, params: unknown, signal: AbortSignal): Promise<unknown>;
  /** 2026 era: an HTTP header of the request. */
  header?(name: string): string | undefined;
  /** 2026 era: what the client brings back to an earlier question. */
  readonly retry?: { requestState?: unknown; inputResponses?: JsonObject };
  /** After a call that started or spoke to an agent session. */
  onSession?(sessionId: string, afterIndex: number): void;
}

const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];
const ours: Record<string, string> = { warn: 'warning' };

/** Passes a log entry on if the client wants its level. */
export function sendLog(exchange: Exchange, entry: { level: string; logger?: string; data: unknown }): void {
  const level = ours[entry.level] ?? entry.level;
  const wanted = exchange.logLevel ?? (exchange.era === 'legacy' ? 'debug' : undefined);
  if (wanted === undefined || levels.indexOf(level) < levels.indexOf(wanted)) return;
  exchange.notify('notifications/message', { level, ...(entry.logger && { logger: entry.logger }), data: entry.data });
}

export function sendProgress(exchange: Exchange, progress: Progress): void {
  if (exchange.progressToken === undefined) return;
  exchange.notify('notifications/progress', { progressToken: exchange.progressToken, ...progress });
}

/** True when the client said that it can be asked this. */
export function canAsk(capabilities: ClientCapabilities, method: string, params: unknown): boolean {
  if (method === 'sampling/createMessage') return capabilities['sampling'] !== undefined;
  if (method === 'roots/list') return capabilities['roots'] !== undefined;
  const elicitation = capabilities['elicitation'];
  if (method !== 'elicitation/create' || elicitation === undefined) return false;
  const isUrl = (params as { mode?: string } | undefined)?.mode === 'url';
  return isUrl
    ? elicitation['url'] !== undefined
    : elicitation['form'] !== undefined || elicitation['url'] === undefined;
}
