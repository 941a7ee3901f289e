import { fail, isObject, textOf, type ClientBehind, type Failure } from '../../schema/index.ts';
import { cleanText } from './foreign-text.ts';
import type { Link } from './link.ts';
import { RpcError, type RequestOptions } from './wire.ts';

const mostRounds = 10;
const mostQuestions = 100;

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
    const { resultType, ...result } = known(await link.request(method, { ...whole, ...client.round }, options));
    return resultType === 'input_required' ? { resultType, ...result } : result;
  }
  let sent: Record<string, unknown> = whole;
  for (let round = 0; ; round++) {
    const result = known(await link.request(method, sent, options));
    if (result['resultType'] !== 'input_required') {
      const { resultType: _, ...rest } = result;
      return rest;
    }
    if (round >= mostRounds) throw failed(`the server asked for input more than ${mostRounds} times`);
    const answers = await Promise.all(
      questionsOf(result).map(
        async ([key, asked, details]) => [key, await asker.askClient(asked, details ?? {})] as const,
      ),
    );
    options.call?.signal?.throwIfAborted();
    sent = { ...whole };
    if (answers.length > 0) sent['inputResponses'] = Object.fromEntries(answers);
    if (result['requestState'] !== undefined) sent['requestState'] = result['requestState'];
  }
}

const failed = (reason: string): Failure => fail('tool.failed', { reason });

/** A kind of result that we do not know holds nothing that could be handed on. */
function known(result: Record<string, unknown>): Record<string, unknown> {
  const { resultType = 'complete' } = result;
  if (resultType === 'complete' || resultType === 'input_required') return result;
  throw failed(`the server answered a result of an unknown kind: ${cleanText(textOf(resultType), 50)}`);
}

function questionsOf({ inputRequests }: Record<string, unknown>): [key: string, method: string, params: unknown][] {
  const questions = isObject(inputRequests) ? Object.entries(inputRequests) : [];
  if (questions.length > mostQuestions) throw failed(`the server asked for more than ${mostQuestions} inputs at once`);
  return questions.map(([key, question]) => {
    if (!isObject(question) || typeof question['method'] !== 'string')
      throw failed(`the server asked for input without saying which: ${cleanText(key, 50)}`);
    return [key, question['method'], question['params']];
  });
}
