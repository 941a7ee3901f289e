// Runs the public MCP conformance suite against our endpoint with the fixture behind it, and against the fixture
// itself: what the fixture passes, we must pass too. `expected-failures.yaml` names every known gap.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parse } from 'yaml';
import { peer } from '../../bench/peers.ts';
import { startTestServer } from '../kit/running-server.ts';
import { inspect } from './inspector.ts';
import { conformJsonSchema } from './json-schema.ts';

interface Suite {
  name: string;
  version: string;
  args: string[];
}

const suites: Suite[] = [
  { name: 'stable, active', version: '0.1.16', args: ['--suite', 'active'] },
  { name: 'newest, active', version: '0.2.0-alpha.12', args: ['--suite', 'active'] },
  { name: 'newest, what 2025-11-25 requires', version: '0.2.0-alpha.12', args: ['--requirements', '2025-11-25'] },
  { name: 'newest, what 2026-07-28 requires', version: '0.2.0-alpha.12', args: ['--requirements', '2026-07-28'] },
];
const here = import.meta.dirname;
const fixture = join(here, 'fixture.ts');

interface Verdict {
  failed: Map<string, string[]>;
  passed: Set<string>;
}

/** Scenarios of one run; only FAILURE counts, warnings are advice. */
async function conform({ version, args }: Suite, url: string): Promise<Verdict> {
  const out = await mkdtemp(join(tmpdir(), 'conformance-'));
  const program = join(peer('@modelcontextprotocol/conformance', version), 'dist', 'index.js');
  const child = spawn(process.execPath, [program, 'server', '--url', url, ...args, '-o', out], {
    stdio: ['ignore', 'ignore', 'ignore'],
  });
  await once(child, 'exit');
  const verdict: Verdict = { failed: new Map(), passed: new Set() };
  for (const folder of await readdir(out)) {
    const scenario = folder.replace(/^server-/, '').replace(/-\d{4}-\d{2}-\d{2}T.*$/, '');
    const text = await readFile(join(out, folder, 'checks.json'), 'utf8').catch(() => '[]');
    const checks = JSON.parse(text) as { id: string; status: string; errorMessage?: string }[];
    const failures = checks
      .filter((check) => check.status === 'FAILURE')
      .map((check) => `${check.id}: ${check.errorMessage ?? ''}`);
    if (failures.length > 0) verdict.failed.set(scenario, failures);
    else verdict.passed.add(scenario);
  }
  await rm(out, { recursive: true, force: true });
  return verdict;
}

/** The suite sends no token: this adds it, and changes nothing else. */
async function withToken(target: string, token: string): Promise<{ url: string; close(): void }> {
  const proxy = createServer((incoming, outgoing) => {
    const headers = { ...incoming.headers, authorization: `Bearer ${token}` };
    const onward = httpRequest(target, { method: incoming.method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on('error', () => outgoing.destroy());
    outgoing.on('close', () => onward.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const { port } = proxy.address() as { port: number };
  const close = (): void => {
    proxy.close();
    proxy.closeAllConnections();
  };
  return { url: `http://localhost:${port}/mcp`, close };
}

async function serveDirectly(): Promise<{ url: string; child: ChildProcess }> {
  const child = spawn(process.execPath, [fixture, 'http'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [port] = (await once(createInterface({ input: child.stdout! }), 'line')) as [string];
  return { url: `http://localhost:${port}/mcp`, child };
}

const expected = parse(await readFile(join(here, 'expected-failures.yaml'), 'utf8'), { merge: true }) as Record<
  string,
  Record<string, string>
>;
const home = await mkdtemp(join(tmpdir(), 'oub-'));
const servers = {
  modern: { command: process.execPath, args: [fixture, 'stdio'] },
  legacy: { command: process.execPath, args: [fixture, 'stdio', 'legacy'] },
};
await writeFile(join(home, 'config.yaml'), JSON.stringify({ servers }));
const server = await startTestServer({ home });
for (let i = 0; ; i++) {
  const answer = (await (await server.fetch('/call/server_list', { method: 'POST', json: { args: {} } })).json()) as {
    value: { servers: { tools: number }[] };
  };
  if (answer.value.servers.every((each) => each.tools > 0)) break;
  if (i > 200) throw new Error(`the fixture does not connect: ${JSON.stringify(answer)}`);
  await new Promise((resolve) => setTimeout(resolve, 100));
}
const direct = await serveDirectly();
const through = {
  modern: await withToken(`${server.url}/mcp/b/modern`, server.token),
  legacy: await withToken(`${server.url}/mcp/b/legacy`, server.token),
};
const only = process.argv[2];
let problems = 0;
try {
  for (const suite of suites.filter((each) => !only || each.name.includes(only))) {
    report(suite, 'direct', await conform(suite, direct.url));
    report(suite, 'through', await conform(suite, through.modern.url));
    // A server of the older era can give no answers of the newer one's kind; what belongs to 2025 must work all the same.
    if (!suite.name.includes('2026')) report(suite, 'through-legacy', await conform(suite, through.legacy.url));
  }
  if (!only || only === 'inspector') {
    const wrong = await inspect(server);
    problems += wrong.length;
    console.log(
      wrong.length === 0
        ? 'inspector --cli: lists and calls run, over HTTP and stdio'
        : `inspector --cli FAILED\n  ${wrong.join('\n  ')}`,
    );
  }
} finally {
  through.modern.close();
  through.legacy.close();
  direct.child.kill('SIGKILL');
  await server.stop();
  await rm(home, { recursive: true, force: true });
}
if (!only || 'json-schema'.includes(only)) problems += conformJsonSchema();
console.log(problems === 0 ? '\nConformance holds.' : `\n${problems} problems.`);
process.exitCode = problems === 0 ? 0 : 1;

function report(suite: Suite, side: string, { failed, passed }: Verdict): void {
  const known = expected[side] ?? {};
  console.log(`${suite.name} (${suite.version}), ${side}: ${passed.size} passed, ${failed.size} failed`);
  if (passed.size === 0) problems++;
  for (const [scenario, reasons] of failed) {
    if (known[scenario]) console.log(`  expected: ${scenario} (${known[scenario]})`);
    else {
      problems++;
      console.log(`  FAILED: ${scenario}\n${reasons.map((reason) => `    ${reason.slice(0, 300)}`).join('\n')}`);
    }
  }
  for (const scenario of passed)
    if (known[scenario]) {
      problems++;
      console.log(`  STALE: ${scenario} passes now; take it out of expected-failures.yaml`);
    }
}
