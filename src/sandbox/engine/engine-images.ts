import { isObject } from '../../schema/index.ts';

/** Name of the base image; `FROM oubliette-base` in a Dockerfile means the newest. */
export const baseName = (id: string): string => `oubliette-base:${id}`;

/** Why a build failed, from the JSON lines the engine streams; undefined when it did not. */
export function buildFailure(stream: Buffer): string | undefined {
  const said: string[] = [];
  for (const line of stream.toString('utf8').split('\n')) {
    const message = parse(line);
    if (!isObject(message)) continue;
    if (typeof message['stream'] === 'string') said.push(message['stream']);
    const error =
      message['error'] ?? (isObject(message['errorDetail']) ? message['errorDetail']['message'] : undefined);
    if (error !== undefined) return `${said.slice(-5).join('').trim()}\n${String(error)}`.trim().slice(-2000);
  }
  return undefined;
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** Engines mix stdout and stderr in frames: kind, three zeros, length, bytes. What is not framed is left as it is. */
export function demultiplex(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at + 8 <= bytes.length;) {
    if (bytes[at]! > 2 || bytes.readUIntBE(at + 1, 3) !== 0) return bytes;
    const length = bytes.readUInt32BE(at + 4);
    parts.push(bytes.subarray(at + 8, at + 8 + length));
    at += 8 + length;
  }
  return Buffer.concat(parts);
}
