import { isObject } from '../../schema/index.ts';
import type { Link } from './link.ts';
import type { RequestOptions } from './wire.ts';

const mostRounds = 10;

/**
 * A request that may come back with questions (2026 era): they are asked, the answers go with the next try.
 * What `ask` throws ends it.
 */
export async function askWithRounds(
  link: Link,
  method: string,
  params: Record<string, unknown>,
  options: RequestOptions,
  ask: (method: string, params: unknown) => Promise<unknown>,
): Promise<Record<string, unknown>> {
  let sent = params;
  for (let round = 0; ; round++) {
    const result = await link.request(method, sent, options);
    if (link.era !== 'modern') return result;
    if (result['resultType'] !== 'input_required') {
      const { resultType: _, ...rest } = result;
      return rest;
    }
    if (round >= mostRounds) throw new Error(`the server asked for input more than ${mostRounds} times`);
    const questions = isObject(result['inputRequests']) ? Object.entries(result['inputRequests']) : [];
    const answers = await Promise.all(
      questions.map(async ([key, question]) => {
        const { method: asked, params: details } = question as { method: string; params: unknown };
        return [key, await ask(asked, details ?? {})] as const;
      }),
    );
    sent = { ...params };
    if (answers.length > 0) sent['inputResponses'] = Object.fromEntries(answers);
    if (result['requestState'] !== undefined) sent['requestState'] = result['requestState'];
  }
}
