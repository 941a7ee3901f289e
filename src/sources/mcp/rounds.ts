import { isObject, type ClientBehind } from '../../schema/index.ts';
import type { Link } from './link.ts';
import { RpcError, type RequestOptions } from './wire.ts';

const mostRounds = 10;

const capabilitiesKey = 'io.modelcontextprotocol/clientCapabilities';

/** Whoever asked us, and how they are asked in turn. */
export interface Asker {
  readonly client?: ClientBehind | undefined;
  askClient(method: string, params: unknown): Promise<unknown>;
}

/**
 * A request that may come back with questions (2026 era). A client of that era gets them as they are and comes back
 * with the answers itself; for any other they are asked here. What `askClient` throws ends it.
 */
export function askWithRounds(
  link: Link,
  method: string,
  params: Record<string, unknown>,
  options: RequestOptions,
  asker: Asker,
): Promise<Record<string, unknown>> {
  if (link.era !== 'modern') {
    if (asker.client?.round?.requestState !== undefined)
      return Promise.reject(
        new RpcError(-32602, 'Invalid or expired requestState', { reason: 'invalid_request_state' }),
      );
    return link.request(method, params, options);
  }
  return inRounds(link, method, params, options, asker);
}

async function inRounds(
  link: Link,
  method: string,
  params: Record<string, unknown>,
  options: RequestOptions,
  asker: Asker,
): Promise<Record<string, unknown>> {
  const { client } = asker;
  const whole = client
    ? { ...params, _meta: { ...(params['_meta'] as object), [capabilitiesKey]: client.capabilities } }
    : params;
  if (client?.round) {
    const { resultType, ...result } = await link.request(method, { ...whole, ...client.round }, options);
    return resultType === 'input_required' ? { resultType, ...result } : result;
  }
  let sent: Record<string, unknown> = whole;
  for (let round = 0; ; round++) {
    const result = await link.request(method, sent, options);
    if (result['resultType'] !== 'input_required') {
      const { resultType: _, ...rest } = result;
      return rest;
    }
    if (round >= mostRounds) throw new Error(`the server asked for input more than ${mostRounds} times`);
    const questions = isObject(result['inputRequests']) ? Object.entries(result['inputRequests']) : [];
    const answers = await Promise.all(
      questions.map(async ([key, question]) => {
        const { method: asked, params: details } = question as { method: string; params: unknown };
        return [key, await asker.askClient(asked, details ?? {})] as const;
      }),
    );
    options.call?.signal?.throwIfAborted();
    sent = { ...whole };
    if (answers.length > 0) sent['inputResponses'] = Object.fromEntries(answers);
    if (result['requestState'] !== undefined) sent['requestState'] = result['requestState'];
  }
}
