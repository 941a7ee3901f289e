import { pino } from 'pino';
import type { LogFile } from './log-file.ts';
import type { Logger } from './observer.ts';

/** A logger that can tell whether a level is written at all. */
export interface LevelledLogger extends Logger {
  isLevelEnabled(level: string): boolean;
}

const levels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];

/** JSON lines with time, level name and whatever the caller adds; every line passes `redact` before it is written. */
export function jsonLogger(file: LogFile, level: string, redact: (line: string) => string): LevelledLogger {
  const logger = pino(
    {
      level: levels.includes(level) ? level : 'info',
      base: undefined,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describe, error: describe },
    },
    { write: (line: string) => file.write(redact(line)) },
  );
  return logger;
}

function describe(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message, stack, cause } = error;
  return { name, message, stack, ...(cause !== undefined && { cause: describe(cause) }) };
}
