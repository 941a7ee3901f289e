import { startTestServer } from '../test/kit/running-server.ts';
import { startChild } from './child.ts';
import { load } from './load.ts';
import { interleave, type Row } from './measure.ts';

export const about = 'POST .../invoke of a built-in function against a bare handler of our HTTP library';

export async function bench(): Promise<Row[]> {
  const server = await startTestServer({ args: ['--log', 'warn'] });
  const bare = await startChild<{ url: string }>('bare-server.ts');
  try {
    const { tools } = (await (await server.fetch('/tools/tools/search?q=demo+foo')).json()) as {
      tools: { bundleID: string; name: string; slug: string; version: string }[];
    };
    const foo = tools.find((tool) => tool.name === 'demo_foo')!;
    const ours = {
      url: server.url,
      path: `/tools/bundles/${foo.bundleID}/tools/${foo.slug}/version/${foo.version}/invoke`,
      headers: { authorization: `Bearer ${server.token}` },
      body: { args: { text: 'hello world' } },
    };
    const theirs = { url: bare.ready.url, path: '/invoke', body: ours.body };
    const rows: Row[] = [];
    for (const inFlight of [1, 8, 64]) {
      const requests = inFlight === 1 ? 2000 : 6000;
      // Both sides start warm: a server is not new at every call.
      for (const side of [ours, theirs]) await load({ ...side, inFlight, requests: 20_000 });
      const taken = await interleave(7, {
        ours: async () => (await load({ ...ours, inFlight, requests })).perSecond,
        other: async () => (await load({ ...theirs, inFlight, requests })).perSecond,
      });
      rows.push({
        what: `invoke, ${inFlight} in flight`,
        unit: 'calls/s',
        ...taken,
        otherName: 'bare fastify',
        goal: { of: 'ratio', atLeast: 0.5 },
      });
    }
    return rows;
  } finally {
    await Promise.all([server.stop(), bare.stop()]);
  }
}
