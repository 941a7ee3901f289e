import type { AgentEvent } from '../agents/index.ts';

const maxText = 256 * 1024;

/** An agent's words, cut to what a log and its readers can carry. */
export function clip<T extends AgentEvent>(event: T): T {
  const copy: Record<string, unknown> = { ...event };
  for (const [key, value] of Object.entries(copy)) {
    if (typeof value === 'string') copy[key] = clipText(value);
    else if (typeof value === 'object' && value !== null && JSON.stringify(value).length > maxText)
      copy[key] = { cut: 'too large for the log' };
  }
  return copy as T;
}

export function clipText(text: string, max = maxText): string {
  if (text.length <= max) return text.isWellFormed() ? text : text.toWellFormed();
  return `${text.slice(0, max).toWellFormed()}\n[cut: ${text.length - max} more characters]`;
}
