import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Gate, ToolRef } from '../../gate/index.ts';
import { asFailure, check, fail, isObject, type Actor, type Failure, type Outcome } from '../../schema/index.ts';

export const CallBody = Type.Object(
  { args: Type.Object({}, { additionalProperties: true }) },
  { additionalProperties: false },
);
const CallError = Type.Object({ code: Type.String(), message: Type.String(), retryable: Type.Boolean() });
export const CallAnswer = Type.Union([
  Type.Object({ ok: Type.Literal(true), value: Type.Unknown() }),
  Type.Object({ ok: Type.Literal(false), error: CallError }),
]);

/** Calls a tool; with `Accept: text/event-stream` progress is streamed before the answer. */
export async function answerCall(
  gate: Gate,
  actor: Actor,
  ref: ToolRef,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const args = argsOf(request.body);
  const options = { signal: () => whenGone(reply.raw), requestId: request.id };
  if (!wantsStream(request)) {
    const text = callText(await gate.call(actor, lowerCase(ref), args, options));
    void reply.type('application/json; charset=utf-8');
    return text;
  }
  return streamCall(gate, actor, lowerCase(ref), args, options, reply);
}

async function streamCall(
  gate: Gate,
  actor: Actor,
  ref: ToolRef,
  args: unknown,
  options: { signal: () => AbortSignal; requestId: string },
  reply: FastifyReply,
): Promise<FastifyReply> {
  // A refusal must still be able to choose its status, so the stream opens with the first thing to say.
  const send = (event: string, data: unknown): void => {
    if (!reply.raw.headersSent) {
      reply.hijack();
      reply.raw.writeHead(200, {
        ...(reply.getHeaders() as Record<string, string>),
        'Content-Type': 'text/event-stream',
        'Cache-Control': 'no-store',
      });
    }
    reply.raw.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  };
  try {
    const outcome = await gate.call(actor, ref, args, {
      ...options,
      onProgress: (progress) => send('progress', progress),
    });
    send('result', answerOf(outcome));
  } catch (error) {
    if (!reply.raw.headersSent) throw error;
    const { code, message, retryable } = asFailure(error);
    send('result', { ok: false, error: { code, message, retryable } });
  }
  reply.raw.end();
  return reply;
}

/** The answer as JSON; what the gate wrote down to measure it is not written again. */
export function callText(outcome: Outcome): string {
  return outcome.ok && outcome.json !== undefined
    ? `{"ok":true,"value":${outcome.json}}`
    : JSON.stringify(answerOf(outcome));
}

/** Aborts when whoever asked hangs up before the answer is sent. */
export function whenGone(answer: ServerResponse): AbortSignal {
  const gone = new AbortController();
  if (answer.destroyed && !answer.writableFinished) gone.abort();
  answer.once('close', () => {
    if (!answer.writableFinished) gone.abort();
  });
  return gone.signal;
}

const wantsStream = (request: FastifyRequest): boolean =>
  request.headers.accept?.includes('text/event-stream') ?? false;

const answerOf = (outcome: Outcome): object =>
  outcome.ok ? { ok: true, value: outcome.value } : { ok: false, error: outcome.error };

/** The arguments, or the Failure that says why the body holds none. */
export function argsOf(body: unknown): unknown {
  if (isObject(body) && isObject(body['args']) && Object.keys(body).length === 1) return body['args'];
  try {
    check(CallBody, body);
    return fail('request.invalid', { reason: 'the body must be {"args": {...}}' });
  } catch (error) {
    return error as Failure;
  }
}

function lowerCase(ref: ToolRef): ToolRef {
  if (typeof ref === 'string') return ref;
  return { bundleID: ref.bundleID.toLowerCase(), slug: ref.slug, version: ref.version };
}
