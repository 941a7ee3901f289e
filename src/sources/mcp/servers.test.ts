import { afterEach, test } from 'node:test';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Failure } from '../../schema/index.ts';
import { patient } from '../../../test/kit/patience.ts';
import { until } from '../../../test/kit/until.ts';
import { callAs, closeServers, connected, openServers, raw, run, view } from '../../../test/mcp/upstream-bench.ts';

const open = openServers;
afterEach(closeServers);

test('lists and calls the tools of a process, whatever their names', async () => {
  const { servers } = await open({ raw: raw('noise') });
  await connected(servers);
  const [bundle] = servers.bundles();
  const sum = bundle?.tools.find((each) => each.upstreamName === 'Add Numbers/now');
  assert.equal(sum?.slug, 'Add-Numbers-now');
  assert.equal(sum?.description, 'ab sum');
  assert.equal(sum?.level, 'write');
  assert.equal(view(servers, 'raw', 'echo').level, 'read');
  const result = await run(servers, 'raw', 'Add Numbers/now', { a: 2, b: 3 });
  assert.deepEqual(result.value, { sum: 5 });
  assert.deepEqual(result.content, [{ type: 'text', text: '5' }]);
  const picture = await run(servers, 'raw', 'picture');
  assert.equal(picture.content?.[0]?.type, 'image');
  assert.equal((await run(servers, 'raw', 'fail')).isError, true);
});

test('a server is asked for its log entries once somebody wants them, also after it died and under another configuration', async () => {
  const { servers } = await open({ raw: raw('shy') });
  await connected(servers);
  const entries = async (): Promise<number> => {
    let count = 0;
    await run(servers, 'raw', 'slow', { ms: 100 }, callAs('me', { relayLog: () => void count++ })).catch(() => {});
    return count;
  };
  assert.equal(await entries(), 0);
  servers.find('raw')!.wantLogs();
  assert.ok((await entries()) > 0);
  await assert.rejects(run(servers, 'raw', 'die'));
  await until(async () => (await entries()) > 0);
  await servers.apply({ raw: { ...raw('shy'), timeoutMs: 29_000 } });
  await connected(servers);
  assert.ok((await entries()) > 0);
});

test('waits for a server that may take a month', async () => {
  const { servers } = await open({ raw: { ...raw(), timeoutMs: 31 * 24 * 3600_000 } });
  assert.deepEqual(await servers.find('raw')!.ask('ping', {}, { principal: 'me' }), {});
  await connected(servers);
  const result = await run(servers, 'raw', 'slow', { ms: 100 });
  assert.notEqual(result.isError, true);
});

test('what is remembered of a server goes with it', async () => {
  const { servers, home } = await open({ one: raw(), two: raw() });
  await connected(servers);
  const files = async (): Promise<number> =>
    (await readdir(join(home, 'run'))).filter((name) => name.endsWith('.json')).length;
  await until(async () => (await files()) === 2);
  // A list on its way to its place.
  await writeFile(join(home, 'run', '.one.tmp'), '{}');
  await servers.apply({ one: raw() });
  await until(async () => (await files()) === 1);
  assert.ok((await readdir(join(home, 'run'))).includes('.one.tmp'));
  const [bundle] = servers.bundles();
  assert.equal(bundle?.slug, 'one');
});

test('sets odd tools aside one by one and keeps the rest', async () => {
  const { servers } = await open({ odd: raw('odd') });
  await connected(servers);
  const tools = servers.bundles()[0]?.tools ?? [];
  const by = (name: string) => tools.find((each) => each.upstreamName === name);
  assert.equal(by('a_b')?.slug, 'a-b');
  assert.match(by('a-b')?.slug ?? '', /^a-b-[0-9a-f]{8}$/);
  assert.equal(tools.filter((each) => each.upstreamName === 'echo').length, 1);
  assert.equal(by('echo')?.description, 'Says it again');
  assert.match(by('broken')?.disabledReason ?? '', /not valid/);
  assert.match(by('loose')?.disabledReason ?? '', /#\/\$defs\/gone/);
  assert.match(by('circle')?.disabledReason ?? '', /leads back to itself/);
  assert.match(by('huge')?.disabledReason ?? '', /bytes/);
  for (const fine of ['loop', 'union', 'import', 'echo']) assert.equal(by(fine)?.disabledReason, undefined);
  assert.equal(by('import')?.slug, 'import');
  assert.match(by('import_')?.slug ?? '', /^import--[0-9a-f]{8}$/);
  assert.equal(by('unheld')?.outputSchema, undefined);
  assert.ok((await run(servers, 'odd', 'unheld')).content);
  const { isError, content } = await run(servers, 'odd', 'wordless');
  assert.equal(isError, true);
  assert.deepEqual(content, [{ type: 'text', text: 'the server answered an error without a reason' }]);
  const long = tools.find((each) => each.upstreamName?.startsWith('nnnn'));
  assert.match(long?.slug ?? '', /^n{55}-[0-9a-f]{8}$/);
  assert.equal(long?.description.length, 1000);
  const [status] = await servers.status();
  assert.ok(status?.warnings.some((each) => each.includes('listed twice')));
  assert.ok(status?.warnings.some((each) => each.startsWith('unheld: its output schema cannot be used')));
  assert.deepEqual(Object.keys(status?.changed_tools ?? {}), []);
});

test('a list that has no end is cut off, and the status says so', async () => {
  const { servers } = await open({ endless: raw('endless') });
  await connected(servers);
  const [status] = await servers.status();
  assert.match(status?.warnings.join('\n') ?? '', /^its list of tools has no end; only the first 20 are taken$/m);
  assert.equal((await run(servers, 'endless', 'echo', { text: 'still here' })).value, 'still here');
});

for (const [how, reason] of [
  ['unlisted', 'not today'],
  ['listless', 'the answer to tools/list holds no list'],
] as const)
  test(`a server that is connected and cannot list its tools says why: ${reason}`, async () => {
    const { servers } = await open({ mine: raw(how) });
    const warnings = async () => (await servers.status(5000))[0]?.warnings ?? [];
    for (let i = 0; i < 1000 && (await warnings()).length === 0; i++) await sleep(25);
    assert.deepEqual(await warnings(), [`its tools cannot be listed: ${reason}`]);
  });

test('follows pages and changes of the list, and ten thousand tools', async () => {
  const { servers } = await open({ many: raw('many=10000', 'page=700') });
  await connected(servers);
  const count = () => servers.bundles()[0]?.tools.length ?? 0;
  assert.equal(count(), 10_010);
  let told = 0;
  servers.onChange(() => told++);
  await run(servers, 'many', 'grow');
  for (let i = 0; i < 1000 && count() !== 10_011; i++) await sleep(25);
  assert.equal(count(), 10_011);
  assert.ok(told > 0);
});

test('shows the list of the last time before the server is there, and notices a changed definition', async () => {
  const { servers, home } = await open({ raw: raw() });
  await connected(servers);
  await servers.close();
  const [file] = (await import('node:fs')).readdirSync(join(home, 'run'));
  const path = join(home, 'run', String(file));
  const known = JSON.parse(await readFile(path, 'utf8')) as { tools: { description: string }[] };
  known.tools[0]!.description = 'something else';
  await writeFile(path, JSON.stringify(known));
  const again = await open({ raw: raw() }, { home });
  assert.equal((await again.servers.status())[0]?.status, 'connecting');
  assert.ok((again.servers.bundles()[0]?.tools.length ?? 0) > 5);
  await connected(again.servers);
  await again.servers.find('raw')?.refresh();
  assert.deepEqual(Object.keys((await again.servers.status())[0]?.changed_tools ?? {}), ['echo']);
});

test('a server that hangs delays nobody and times out by name', async () => {
  const { servers } = await open({ deaf: { ...raw('hang'), timeoutMs: 3000 }, raw: raw() });
  assert.equal(servers.find('deaf')?.state, 'connecting');
  const upstream = servers.find('deaf');
  await assert.rejects(
    upstream!.call('echo', {}, callAs('me')),
    (error: Failure) => error.code === 'source.unreachable',
  );
  for (let i = 0; i < 1000 && servers.find('raw')?.state !== 'connected'; i++) await sleep(25);
  assert.equal(servers.find('raw')?.state, 'connected');
});

test('a server that has failed counts as disconnected until it is there, also while it is tried again', async () => {
  const slowly = ['-e', 'setTimeout(() => process.exit(1), 400)'];
  const { servers } = await open({ odd: { command: process.execPath, args: slowly } });
  const stateNow = (): string | undefined => servers.find('odd')?.state;
  assert.equal(stateNow(), 'connecting');
  await until(() => stateNow() === 'disconnected');
  // Long enough for the next attempt to begin.
  for (let i = 0; i < 150 && stateNow() === 'disconnected'; i++) await sleep(20);
  assert.equal(stateNow(), 'disconnected');
});

test('a server that dies in the middle of a call fails that call and comes back', async () => {
  const { servers } = await open({ raw: raw() });
  await connected(servers);
  await assert.rejects(
    run(servers, 'raw', 'die'),
    (error: Failure) => error.code === 'source.unreachable' && error.retryable,
  );
  assert.equal(servers.find('raw')?.state, 'disconnected');
  for (let i = 0; i < 1000 && servers.find('raw')?.state !== 'connected'; i++) await sleep(25);
  assert.equal((await run(servers, 'raw', 'echo', { text: 'back' })).value, 'back');
});

test('a server whose line never ends is ended, and says so', async () => {
  const { servers } = await open({ endless: { command: 'sh', args: ['-c', 'yes | tr -d "\\n"'] }, raw: raw() });
  const error = async (): Promise<string> => (await servers.status())[0]?.error ?? '';
  for (let i = 0; i < 1000 && !(await error()).includes('line of more than'); i++) await sleep(25);
  assert.equal(
    await error(),
    'Connection closed; its last words: error: it wrote a line of more than 67108864 characters and was ended',
  );
  assert.equal((await run(servers, 'raw', 'echo', { text: 'fine' })).value, 'fine');
});

test('a server that ends itself on an unknown first request is spoken to in the older way', async () => {
  const { servers } = await open({ raw: raw('exit-on-probe') });
  await connected(servers);
  assert.equal((await run(servers, 'raw', 'echo', { text: 'old' })).value, 'old');
});

test('a server that cannot be started says why once, however often it is tried', async () => {
  const { servers } = await open({
    silent: { command: 'false' },
    pieces: { command: 'sh', args: ['-c', 'printf "no key, " >&2; sleep 0.2; printf "error 7" >&2; exit 3'] },
  });
  for (let tries = 0; tries < 3; tries++) {
    for (const name of ['silent', 'pieces'])
      await servers
        .byName(name)
        ?.reconnect()
        .catch(() => {});
    const [silent, pieces] = await servers.status();
    assert.equal(silent?.error, 'Connection closed');
    assert.equal(pieces?.error, 'Connection closed; its last words: no key, error 7');
  }
});

test('a flood of messages keeps neither its own calls nor others waiting', async () => {
  const { servers } = await open({ flood: raw('flood'), raw: raw() });
  await connected(servers);
  const times: number[] = [];
  for (let i = 0; i < 20; i++) {
    const at = performance.now();
    await run(servers, 'raw', 'echo', { text: 'x' });
    times.push(performance.now() - at);
  }
  times.sort((a, b) => a - b);
  assert.ok(times[10]! < patient(250), `median ${times[10]} ms`);
  assert.equal((await run(servers, 'flood', 'echo', { text: 'through' })).value, 'through');
});

test('progress, log and questions reach the one who called', async () => {
  const { servers } = await open({ raw: raw() });
  await connected(servers);
  const progress: unknown[] = [];
  const logged: unknown[] = [];
  await run(
    servers,
    'raw',
    'slow',
    { ms: 80 },
    callAs('me', { progress: (each) => progress.push(each), relayLog: (each) => logged.push(each) }),
  );
  assert.deepEqual(progress[0], { progress: 1, message: 'still here' });
  assert.deepEqual(logged[0], { level: 'info', logger: 'slow', data: 'step 1' });
  const asked = await run(
    servers,
    'raw',
    'ask',
    {},
    callAs('me', { askClient: async (method) => ({ action: 'accept', content: { name: method } }) }),
  );
  assert.deepEqual(asked.value, { action: 'accept', content: { name: 'elicitation/create' } });
});

test('a question goes to nobody when two principals are being served', async () => {
  const { servers } = await open({ raw: raw() });
  await connected(servers);
  const slow = run(
    servers,
    'raw',
    'slow',
    { ms: 300 },
    callAs('someone else', { askClient: async () => assert.fail('asked the wrong one') }),
  );
  const asked = await run(
    servers,
    'raw',
    'ask',
    {},
    callAs('me', { askClient: async () => assert.fail('asked although uncertain') }),
  );
  assert.match(JSON.stringify(asked.value), /not certain/);
  await slow;
});

test('a cancelled call is cancelled upstream', async () => {
  const { servers } = await open({ raw: raw() });
  await connected(servers);
  const control = new AbortController();
  // What it says first shows that it got the call.
  const me = callAs('me', { signal: control.signal, progress: () => control.abort() });
  const slow = run(servers, 'raw', 'slow', { ms: 60_000 }, me);
  await assert.rejects(slow, (error: Failure) => error.code === 'tool.cancelled');
  for (let i = 0; i < 1000 && !servers.find('raw')?.lines.some((line) => line.includes('cancelled as asked')); i++)
    await sleep(20);
  assert.ok(servers.find('raw')?.lines.some((line) => line.includes('cancelled as asked')));
});

test('a call that was cancelled at once, or while it waited for its turn, is cancelled all the same', async () => {
  const { servers } = await open({ raw: { ...raw(), maxConcurrent: 1 } });
  await connected(servers);
  const atOnce = new AbortController();
  const slow = run(servers, 'raw', 'slow', { ms: 5000 }, callAs('me', { signal: atOnce.signal }));
  const waiting = new AbortController();
  const grown = run(servers, 'raw', 'grow', {}, callAs('me', { signal: waiting.signal }));
  waiting.abort();
  atOnce.abort();
  await assert.rejects(slow, (error: Failure) => error.code === 'tool.cancelled');
  await assert.rejects(grown, (error: Failure) => error.code === 'tool.cancelled');
  assert.equal((await run(servers, 'raw', 'echo', { text: 'next' })).value, 'next');
  await servers.find('raw')?.refresh();
  assert.ok(!servers.find('raw')?.offered.some(({ upstreamName }) => upstreamName?.startsWith('grown')));
});

test('a process sees a small environment, its secrets, and not our home', async () => {
  process.env['OUB_TEST_CANARY'] = 'do not pass on';
  const { servers, home } = await open(
    { raw: { ...raw(), env: { KEY: '${TOKEN}' } } },
    { fillIn: (text) => text.replace('${TOKEN}', 'filled in') },
  );
  await writeFile(join(home, 'admin.token'), 'secret');
  await connected(servers);
  const env = (await run(servers, 'raw', 'env')).value as Record<string, string>;
  assert.equal(env['KEY'], 'filled in');
  assert.equal(env['OUB_TEST_CANARY'], undefined);
  const seen = (await run(servers, 'raw', 'look', { path: home })).value as { names: string[] };
  assert.deepEqual(seen.names, []);
});

test('no process is left behind when we are killed', async () => {
  const marker = `killed-${process.pid}-${Date.now()}`;
  const code = `
    const { mcpServers } = await import(${JSON.stringify(new URL('./servers.ts', import.meta.url).href)});
    const quiet = { debug() {}, info() {}, warn() {}, error() {} };
    const home = process.argv[1];
    const servers = await mcpServers({ version: '0', home, folder: home + '/run', log: quiet, fillIn: (text) => text, fetchFor: () => fetch, redact: (value) => value });
    servers.connect();
    await servers.apply({ raw: ${JSON.stringify(raw(marker))} });
    await servers.status(5000);
    console.log('ready');
    setInterval(() => {}, 1000);`;
  const home = await mkdtemp(join(tmpdir(), 'oub-mcp-'));
  const child = spawn(process.execPath, ['--input-type=module', '-e', code, home], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  const count = async () =>
    (await processes()).filter((line) => line.includes(marker) && line.includes('raw-server')).length;
  assert.ok((await count()) > 1, 'the server runs');
  child.kill('SIGKILL');
  for (let i = 0; i < 1000 && (await count()) > 0; i++) await sleep(30);
  assert.equal(await count(), 0);
  await rm(home, { recursive: true, force: true });
});

test('no process is left behind after a stop', async () => {
  const { servers } = await open({ raw: raw() });
  await connected(servers);
  const marker = `marker-${process.pid}-${Date.now()}`;
  await servers.apply({ raw: { ...raw(marker) } });
  await connected(servers);
  const count = async () => (await processes()).filter((line) => line.includes(marker)).length;
  assert.ok((await count()) > 0);
  await servers.close();
  for (let i = 0; i < 1000 && (await count()) > 0; i++) await sleep(30);
  assert.equal(await count(), 0);
});

async function processes(): Promise<string[]> {
  const { readdir } = await import('node:fs/promises');
  const pids = (await readdir('/proc')).filter((each) => /^\d+$/.test(each));
  return Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
}
