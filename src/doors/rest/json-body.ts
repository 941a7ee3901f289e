import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import {
  fail,
  isObject,
  jsonFault,
  lostWhenStored,
  mayHoldLongInteger,
  parseExactly,
  type Failure,
} from '../../schema/index.ts';
import type { BodyRoom } from './body-room.ts';

/**
 * Takes JSON bodies and nothing else. What is wrong with a body is handed on in its place: who asks, whether they may
 * and whether the thing exists is said first.
 */
export function jsonBodies(app: FastifyInstance, room: BodyRoom, maxBytes: () => number): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', async (request: FastifyRequest, payload: IncomingMessage) => {
    const body = await room.read(payload, Math.min(request.routeOptions.bodyLimit!, maxBytes()));
    return encodingFault(request) ?? parseBody(body);
  });
}

function encodingFault({ headers }: FastifyRequest): Failure | undefined {
  const type = headers['content-type'] ?? '';
  const charset = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(type)?.[1] ?? 'utf-8';
  if (!/^(?:utf-?8|us-ascii)$/i.test(charset)) return fail('media_type.unsupported', { type });
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding.toLowerCase() === 'identity') return undefined;
  return fail('media_type.unsupported', {
    type: `application/json with the content encoding ${encoding.slice(0, 50)}`,
  });
}

/** What the bytes say, or the Failure that says why they say nothing. */
export function parseBody(body: Buffer): unknown {
  if (body.length === 0) return fail('request.invalid', { reason: 'the body is empty. Send a JSON object' });
  // Decoding would silently put other characters in place of broken ones.
  if (!isUtf8(body)) return fail('request.invalid', { reason: 'the body is not UTF-8 text' });
  const decoded = body.toString('utf8');
  const text = decoded.startsWith('\uFEFF') ? decoded.slice(1) : decoded;
  try {
    const value = mayHoldLongInteger(text) ? exactBody(text) : (JSON.parse(text) as unknown);
    return (mayHoldProto(text) ? protoFault(value) : undefined) ?? value;
  } catch (error) {
    return fail('request.invalid', { reason: `the body is not valid JSON: ${jsonFault(error)}` });
  }
}

/** Arguments go to the gate as they are written, for it to refuse them in its turn; what would be stored is refused here. */
function exactBody(text: string): unknown {
  const exact = parseExactly(text);
  if (isObject(exact) && 'args' in exact) return exact;
  const lost = lostWhenStored(text);
  if (!lost) return JSON.parse(text);
  const details = [{ path: lost.path, message: `is ${lost.digits}, an integer too long to be kept exactly` }];
  return fail('request.invalid', { reason: `${details[0]!.path} ${details[0]!.message}` }, { details });
}

const mayHoldProto = (text: string): boolean => text.includes('__proto__') || text.includes('\\u');

/** A key named __proto__ is never a field of ours, and copying it carelessly would change what objects inherit. */
function protoFault(root: unknown): Failure | undefined {
  const stack: { value: unknown; path: string }[] = [{ value: root, path: '' }];
  for (let next = stack.pop(); next; next = stack.pop()) {
    const { value, path } = next;
    if (typeof value !== 'object' || value === null) continue;
    if (Object.hasOwn(value, '__proto__')) {
      const details = [{ path: `${path.slice(0, 200)}/__proto__`, message: 'is not a known field' }];
      return fail('request.invalid', { reason: `${details[0]!.path} ${details[0]!.message}` }, { details });
    }
    for (const [key, child] of Object.entries(value)) {
      const isContainer = typeof child === 'object' && child !== null;
      if (isContainer) stack.push({ value: child, path: path.length > 200 ? path : `${path}/${key}` });
    }
  }
  return undefined;
}
