import type { Agent } from 'undici';
import { fail } from '../../schema/index.ts';
import type { DialPolicy } from './dialler.ts';
import type { HostRules } from './host-rules.ts';
import { checkUrl, nextHop, parseUrl, redirectTarget, tooManyRedirects } from './hops.ts';

type Fetch = typeof globalThis.fetch;

/** The standard `fetch` under the dialler's rules: each hop is checked, and dialled by the agent of its rules. */
export function webFetch(
  routeFor: (policy: DialPolicy | undefined) => { rules: HostRules; agent: () => Promise<Agent> },
  policy: DialPolicy | undefined,
): Fetch {
  const asked = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    if (input instanceof Request) throw fail('not_supported', { what: 'A Request object as the first argument' });
    const { fetch } = await import('./agent.ts');
    let url = parseUrl(input);
    let hop = {
      method: init.method ?? 'GET',
      headers: Object.fromEntries(new Headers(init.headers)),
      body: init.body ?? null,
    };
    for (let followed = 0; ; followed++) {
      const { rules, agent } = routeFor(policy);
      checkUrl(url, rules);
      policy?.onHop?.(url);
      const answer = (await fetch(url, {
        ...(init as object),
        ...hop,
        body: hop.body as string,
        redirect: 'manual',
        dispatcher: await agent(),
      }).catch(unwrap)) as Response;
      const location = redirectTarget(answer.status, answer.headers.get('location') ?? undefined, url);
      if (!location || init.redirect === 'manual') return answer;
      await answer.body?.cancel();
      if (init.redirect === 'error' || followed >= (policy?.maxRedirects ?? 5)) throw tooManyRedirects(url, followed);
      const next = nextHop({ ...hop, url, body: hop.body as string | null }, location, answer.status, policy);
      url = location;
      hop = { method: next.method, headers: next.headers, body: next.body as string | null };
    }
  };
  return asked as Fetch;
}

/** `fetch` hides what went wrong behind "fetch failed". */
function unwrap(error: unknown): never {
  throw error instanceof TypeError && error.cause instanceof Error ? error.cause : error;
}
