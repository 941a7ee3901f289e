import type { FastifyInstance } from 'fastify';

/** Learns every route of all doors; answers which verbs an address has. Empty when there is no such address. */
export function knownVerbs(app: FastifyInstance): (path: string) => string[] {
  const byUrl = new Map<string, { pattern: RegExp; verbs: Set<string> }>();
  app.addHook('onRoute', ({ url, method }) => {
    if (url.endsWith('*') && url.length < 2) return;
    let known = byUrl.get(url);
    if (!known) byUrl.set(url, (known = { pattern: patternOf(url), verbs: new Set() }));
    for (const verb of [method].flat()) known.verbs.add(String(verb));
  });
  return (path) => {
    const found = [...byUrl.values()].filter(({ pattern }) => pattern.test(path)).flatMap(({ verbs }) => [...verbs]);
    return [...new Set(found)].sort();
  };
}

function patternOf(url: string): RegExp {
  const steps = url.split('/').map((step) => {
    if (step === '*') return '.*';
    return step.startsWith(':') ? '[^/]+' : RegExp.escape(step);
  });
  return new RegExp(`^${steps.join('/')}$`);
}
