import { hintFor, plainMessage } from './hints.ts';
import type { TraceFrame } from './protocol.ts';

/** Why a program failed. `text` is what its author reads: type, message, line in their own code, and what to do instead. */
export interface ProgramError {
  type: string;
  message: string;
  line?: number;
  text: string;
}

/** Puts an error's text together. Frames are already in lines of the user's own code. */
export function programError(
  type: string,
  rawMessage: string,
  frames: readonly TraceFrame[],
  source: string,
): ProgramError {
  const message = plainMessage(rawMessage);
  const lines = source.split('\n');
  const hint = hintFor(rawMessage);
  const trace = frames.map(({ line, until, functionName }) => {
    const where = functionName && functionName !== '<module>' ? `, in ${functionName}` : '';
    if (until !== undefined) return `  one of the lines ${line} to ${until}${where}`;
    const text = lines[line - 1]?.trim() ?? '';
    return `  line ${line}${where}${text === '' ? '' : `: ${text.length > 200 ? `${text.slice(0, 200)}...` : text}`}`;
  });
  const head = message === '' ? type : `${type}: ${message}`;
  const text = [head, ...(hint ? [`Hint: ${hint}`] : []), ...trace].join('\n');
  const line = frames.at(-1)?.line;
  return line === undefined ? { type, message, text } : { type, message, line, text };
}
