import { randomUUIDv7 } from 'node:crypto';
import { Agent, request } from 'node:http';
import fc from '../kit/fast-check.ts';
import { catalogue } from '../../src/schema/index.ts';
import { startTestServer, type TestServer } from '../kit/running-server.ts';
import type { Tally } from './run.ts';

export const about =
  'hostile bodies, paths, queries and page tokens over REST: never a 500, never a hang, always a named error';
export const full = 20_000;

const answerWithinMs = 60_000;

interface Shot {
  method: string;
  path: string;
  body?: Buffer;
  type?: string;
}

interface Hit {
  status: number;
  body: string;
}

export async function chaos(rounds: number): Promise<Tally> {
  const tally: Tally = { counted: { requests: 0, refused: 0, accepted: 0 }, violations: [] };
  const server = await startTestServer();
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  try {
    const pageToken = await realPageToken(server);
    const bundleID = randomUUIDv7();
    await server.fetch(`/tools/bundles/${bundleID}`, { method: 'PUT', json: goodBundle });
    const shots = fc.sample(shot(bundleID, pageToken), rounds);
    for (let at = 0; at < shots.length; at += 8)
      await Promise.all(
        shots.slice(at, at + 8).map(async (each) => judge(each, await fire(server, agent, each), tally)),
      );
    const health = await server.fetch('/health');
    if (health.status !== 200) tally.violations.push(`afterwards /health answers ${health.status}`);
  } finally {
    agent.destroy();
    const code = await server.stop();
    if (code !== 0) tally.violations.push(`the server ended with ${code}: ${server.errors().slice(-500)}`);
  }
  return tally;
}

function judge(each: Shot, hit: Hit | Error, tally: Tally): void {
  tally.counted['requests']!++;
  const what = `${each.method} ${each.path.slice(0, 200)} ${each.body?.toString('utf8').slice(0, 200) ?? ''}`;
  // A body that is too large is refused before it was read: a client may find its connection closed instead of the answer.
  if (hit instanceof Error && (each.body?.length ?? 0) > 4 * 2 ** 20 && /EPIPE|ECONNRESET/.test(hit.message)) return;
  if (hit instanceof Error) return void tally.violations.push(`${what}: ${hit.message}`);
  if (hit.status >= 500) return void tally.violations.push(`${what}: ${hit.status} ${hit.body.slice(0, 300)}`);
  if (hit.status < 400) return void tally.counted['accepted']!++;
  tally.counted['refused']!++;
  try {
    const { error } = JSON.parse(hit.body) as { error: { code: string; message: string; requestId: string } };
    if (!(error.code in catalogue) || !error.message || !error.requestId) throw new Error('not a named error');
  } catch {
    tally.violations.push(`${what}: ${hit.status} without a named error: ${hit.body.slice(0, 200)}`);
  }
}

function fire(server: TestServer, agent: Agent, { method, path, body, type }: Shot): Promise<Hit | Error> {
  return new Promise((resolve) => {
    const headers: Record<string, string | number> = { authorization: `Bearer ${server.token}` };
    if (body) Object.assign(headers, { 'content-type': type ?? 'application/json', 'content-length': body.length });
    const sent = request(server.url, { method, path, headers, agent, timeout: answerWithinMs }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve({ status: response.statusCode!, body: text }));
    });
    sent.on('timeout', () => sent.destroy(new Error(`no answer within ${answerWithinMs} ms`)));
    sent.on('error', (error) => resolve(error));
    sent.end(body);
  });
}

async function realPageToken(server: TestServer): Promise<string> {
  const page = (await (await server.fetch('/tools/tools?recommendedPageSize=1')).json()) as { nextPageToken: string };
  return page.nextPageToken;
}

// --- what is sent

const nastyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 80 }),
  fc.constantFrom(
    '',
    ' ',
    '..',
    '.',
    '../../etc/passwd',
    '\u0000',
    '__proto__',
    'constructor',
    'null',
    '-',
    'e\u0301'.repeat(10),
  ),
  fc.constantFrom(
    '𝒳'.repeat(64),
    '漢'.repeat(65),
    'a'.repeat(100_000),
    '${x}',
    '{{ 7*7 }}',
    '%00',
    '%2e%2e%2f',
    "'; DROP TABLE t;--",
  ),
);
const nastyJson = fc.oneof(
  { weight: 3, arbitrary: fc.jsonValue({ maxDepth: 4 }) },
  nastyText,
  fc.constantFrom(1e308, -0, 2 ** 60, null, [], {}, true),
  fc.constantFrom(nested(5000), JSON.parse('{"__proto__":{"isAdmin":true}}')),
);
const nastySchema = fc.oneof(
  nastyJson,
  fc.constantFrom(
    { type: 'string', pattern: '^(a+)+$' },
    { $ref: '#' },
    { $ref: 'http://example.com/x' },
    { type: 'nonsense' },
    { allOf: Array.from({ length: 3000 }, () => ({ type: 'object' })) },
    { $schema: 'https://json-schema.org/draft/2020-12/schema', prefixItems: [{}] },
    { $id: 'x', $defs: { a: { $ref: '#/$defs/a' } }, $ref: '#/$defs/a' },
  ),
);

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < depth; i++) value = [value];
  return value;
}

const goodTool = {
  displayName: 'x',
  isEnabled: true,
  type: 'function',
  functionImpl: { func: 'demo.foo' },
  argSchema: { type: 'object' },
  tags: ['a'],
  limits: { timeoutMs: 1000 },
};
const goodBundle = { slug: 'fuzz', displayName: 'Fuzz', isEnabled: true, description: 'x' };

/** A good body with one or two fields replaced, removed or added. */
const spoilt = (good: Record<string, unknown>) =>
  fc
    .array(
      fc.tuple(
        fc.constantFrom(...Object.keys(good), 'id', '__proto__', 'httpImpl', 'scriptImpl', 'access', 'outputSchema'),
        fc.oneof(nastyJson, nastySchema),
      ),
      {
        minLength: 1,
        maxLength: 2,
      },
    )
    .map((changes) => JSON.stringify({ ...good, ...Object.fromEntries(changes) }));

const bodyText = fc.oneof(
  { weight: 4, arbitrary: spoilt(goodTool) },
  { weight: 2, arbitrary: spoilt(goodBundle) },
  { weight: 2, arbitrary: nastyJson.map((value) => JSON.stringify({ args: value })) },
  nastyJson.map((value) => JSON.stringify(value)),
  fc.constantFrom(
    '',
    '{',
    '[',
    'null',
    '"\\ud800"',
    '{"args":{"text":"\\udfff"}}',
    '{"isEnabled":1}',
    '[[[['.repeat(20_000),
    `{"args":{"text":"${'x'.repeat(5_000_000)}"}}`,
  ),
);
const body = fc.oneof(
  { weight: 8, arbitrary: bodyText.map((text) => Buffer.from(text)) },
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
);

function shot(bundleID: string, pageToken: string): fc.Arbitrary<Shot> {
  const id = fc.oneof(
    { weight: 5, arbitrary: fc.constant(bundleID) },
    fc.constantFrom(bundleID.toUpperCase(), 'x', '00000000-0000-4000-8000-000000000000'),
    nastyText,
  );
  const part = fc.oneof({ weight: 3, arbitrary: fc.constantFrom('tool', 'v1') }, nastyText);
  const place = (text: string) => encodeURIComponent(text.toWellFormed().slice(0, 3000));
  const flipped = fc
    .tuple(fc.nat(pageToken.length - 1), fc.constantFrom('A', 'b', '_', '.', '~'))
    .map(([at, letter]) => pageToken.slice(0, at) + letter + pageToken.slice(at + 1));
  const token = fc.oneof(flipped, fc.constant(pageToken), nastyText);
  const size = fc.oneof(
    fc.integer().map(String),
    fc.constantFrom('0', '-1', '1e9', '99999999999999999999', 'NaN', ''),
    nastyText,
  );
  const path = fc.oneof(
    id.map((bundle) => `/tools/bundles/${place(bundle)}`),
    fc
      .tuple(id, part, part)
      .map(
        ([bundle, slug, version]) => `/tools/bundles/${place(bundle)}/tools/${place(slug)}/version/${place(version)}`,
      ),
    fc
      .tuple(id, part, part)
      .map(
        ([bundle, slug, version]) =>
          `/tools/bundles/${place(bundle)}/tools/${place(slug)}/version/${place(version)}/invoke`,
      ),
    fc
      .tuple(token, size)
      .map(([each, count]) => `/tools/tools?pageToken=${place(each)}&recommendedPageSize=${place(count)}`),
    fc
      .tuple(token, size)
      .map(
        ([each, count]) =>
          `/tools/bundles?pageToken=${place(each)}&pageSize=${place(count)}&includeDisabled=${place(count)}`,
      ),
    fc.tuple(nastyText, token).map(([q, each]) => `/tools/tools/search?q=${place(q)}&pageToken=${place(each)}`),
    nastyText.map((q) => `/tools/tools/search?q=${place(q)}&includeDisabled=true`),
    fc
      .oneof(fc.constantFrom('demo_foo', 'token_create', 'token_revoke', 'run', 'doctor_run'), nastyText)
      .map((name) => `/call/${place(name)}`),
    nastyText.map((text) => `/${place(text)}`),
    fc.constantFrom(
      '/%',
      '/%zz',
      '/tools/bundles/%ff%fe',
      '/tools//bundles',
      '/tools/bundles/',
      '/call/',
      '/openapi.json',
      '/metrics',
      '/tools/export?bundleIDs=x,y',
    ),
  );
  const method = fc.constantFrom('GET', 'PUT', 'PATCH', 'POST', 'DELETE', 'PUT', 'POST');
  const type = fc.constantFrom(
    'application/json',
    'application/json',
    'application/json',
    'application/json; charset=utf-16',
    'text/plain',
    'application/zip',
    'multipart/form-data',
  );
  return fc
    .record({ method, path, body: fc.option(body, { nil: undefined, freq: 6 }), type })
    .map((each) => (each.method === 'GET' ? { method: each.method, path: each.path } : each));
}
