import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { newUuid } from '../src/schema/index.ts';
import { startTestServer, type TestServer } from '../test/kit/running-server.ts';
import { startChild } from './child.ts';
import { load } from './load.ts';
import { interleave, type Row } from './measure.ts';

export const about = 'POST .../invoke of an HTTP tool with a secret against a bare fetch to the same API';

export async function bench(): Promise<Row[]> {
  const api = await startChild<{ url: string }>('bare-api.ts');
  const server = await startTestServer({ args: ['--log', 'warn'] });
  const bare = bareFetch(api.ready.url);
  try {
    const ours = {
      url: server.url,
      path: await storeTool(server, api.ready.url),
      headers: { authorization: `Bearer ${server.token}` },
      body: { args: { city: 'Ulm' } },
    };
    const check = (body: string): void => {
      if (!body.startsWith('{"ok":true,"value":{"city":"Ulm"')) throw new Error(body.slice(0, 300));
    };
    const rows: Row[] = [];
    for (const inFlight of [1, 8, 64]) {
      const requests = inFlight === 1 ? 1500 : 4000;
      await load({ ...ours, inFlight, requests: 1500, check });
      await bare.run(inFlight, 1500);
      const taken = await interleave(7, {
        ours: async () => (await load({ ...ours, inFlight, requests, check })).perSecond,
        other: () => bare.run(inFlight, requests),
      });
      rows.push({
        what: `HTTP tool, ${inFlight} in flight`,
        unit: 'calls/s',
        ...taken,
        otherName: 'bare fetch',
        goal: { of: 'ratio', atLeast: 0.5 },
      });
    }
    return rows;
  } finally {
    await Promise.all([server.stop(), api.stop(), bare.stop()]);
  }
}

async function storeTool(server: TestServer, api: string): Promise<string> {
  await writeFile(join(server.home, 'config.yaml'), `version: 1\nallowedHosts: ["${new URL(api).host}"]\n`);
  const bundle = newUuid();
  const path = `/tools/bundles/${bundle}/tools/weather/version/v1`;
  await server.fetch('/call/secret_set', {
    method: 'POST',
    json: { args: { name: 'API_TOKEN', value: 'some-api-token' } },
  });
  await server.fetch(`/tools/bundles/${bundle}`, {
    method: 'PUT',
    json: { slug: 'api', displayName: 'API', isEnabled: true },
  });
  const request = {
    method: 'GET',
    urlTemplate: `${api}/weather/\${city}`,
    query: { units: 'metric' },
    auth: { type: 'bearer', value: '${API_TOKEN}' },
  };
  const tool = {
    displayName: 'Weather',
    isEnabled: true,
    type: 'http',
    argSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    httpImpl: { request },
  };
  for (let left = 50; left > 0; left--) {
    // The configuration is seen a moment after it was written.
    const { status } = await server.fetch(path, { method: 'PUT', json: tool });
    if (status === 201) return `${path}/invoke`;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error('the tool could not be stored');
}

function bareFetch(url: string): { run(inFlight: number, requests: number): Promise<number>; stop(): Promise<void> } {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'bare-fetch.ts'), url], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ready = lines.next();
  return {
    async run(inFlight, requests) {
      await ready;
      child.stdin.write(`${JSON.stringify({ inFlight, requests })}\n`);
      const { value } = (await lines.next()) as { value: string };
      return (JSON.parse(value) as { perSecond: number }).perSecond;
    },
    async stop() {
      child.stdin.end();
      await once(child, 'exit');
    },
  };
}
