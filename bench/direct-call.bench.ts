import { startTestServer } from '../test/kit/running-server.ts';
import { startChild } from './child.ts';
import { load } from './load.ts';
import { interleave, type Row } from './measure.ts';

export const about = 'POST .../invoke of a built-in function against a bare handler of our HTTP library';

/** The same program differs by a tenth from one start to the next: what is measured comes from several. */
const starts = 3;
const rounds = 3;

export async function bench(): Promise<Row[]> {
  const rows = [1, 8, 64].map((inFlight) => ({ inFlight, ours: [] as number[], other: [] as number[] }));
  for (let start = 0; start < starts; start++) await measure(rows);
  return rows.map(({ inFlight, ours, other }) => ({
    what: `invoke, ${inFlight} in flight`,
    unit: 'calls/s',
    ours,
    other,
    otherName: 'bare fastify',
    goal: { of: 'ratio', atLeast: 0.5 },
  }));
}

/** Starts both sides anew, and adds what they take to the rows. */
async function measure(rows: readonly { inFlight: number; ours: number[]; other: number[] }[]): Promise<void> {
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
    for (const row of rows) {
      const { inFlight } = row;
      const requests = inFlight === 1 ? 2000 : 6000;
      // Both sides start warm: a server is not new at every call.
      for (const side of [ours, theirs]) await load({ ...side, inFlight, requests: 20_000 });
      const taken = await interleave(rounds, {
        ours: async () => (await load({ ...ours, inFlight, requests })).perSecond,
        other: async () => (await load({ ...theirs, inFlight, requests })).perSecond,
      });
      row.ours.push(...taken.ours);
      row.other.push(...taken.other);
    }
  } finally {
    await Promise.all([server.stop(), bare.stop()]);
  }
}
