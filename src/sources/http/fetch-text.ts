import { fail } from '../../schema/index.ts';
import type { DialPolicy, Dialler } from './dialler.ts';
import { networkReason } from './network-errors.ts';
import { acceptedEncodings, readText } from './read-body.ts';

const maxBytes = 64 * 1024 * 1024;
const timeoutMs = 60_000;

/** One document by GET, whole. Throws host.not_allowed, source.unreachable, response.too_large, or import.invalid when it is not there. */
export async function fetchText(
  dialler: Dialler,
  url: string,
  signal?: AbortSignal,
  policy?: DialPolicy,
): Promise<string> {
  const deadline = AbortSignal.timeout(timeoutMs);
  const headers = {
    accept: 'application/json, application/yaml, text/*;q=0.9, */*;q=0.5',
    'accept-encoding': acceptedEncodings,
  };
  try {
    const answer = await dialler.fetch(
      url,
      { headers, signal: signal ? AbortSignal.any([signal, deadline]) : deadline },
      policy,
    );
    const text = await readText(answer, maxBytes, 'the document');
    if (answer.status !== 200)
      throw fail('import.invalid', { reason: `${answer.url.host}${answer.url.pathname} answered ${answer.status}` });
    return text;
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    const reason = networkReason(error);
    if (reason === undefined) throw error;
    throw fail('source.unreachable', { what: URL.parse(url)?.host ?? 'The host', reason }, { cause: error });
  }
}
