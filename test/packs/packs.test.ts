import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { entryPoint } from '../../src/entry.ts';
import type { Logger } from '../../src/observe/index.ts';
import { fail, type Call } from '../../src/schema/index.ts';
import { openPacks, type Packs } from '../../src/sources/packs/index.ts';
import { patient } from '../kit/patience.ts';
import { until } from '../kit/until.ts';

let folder: string;
let packs: Packs;
const lines: string[] = [];
const note = (_: object, message = ''): void => void lines.push(message);
const log: Logger = { debug: note, info: note, warn: note, error: note };

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oub-packs-'));
  packs = await openPacks({ folder, hostPath: entryPoint('sources/packs/pack-host'), log, lookEveryMs: 100 });
});
after(async () => {
  await packs.close();
  await rm(folder, { recursive: true });
});

const write = async (name: string, source: string): Promise<void> => {
  await writeFile(join(folder, name), source, { mode: 0o600 });
  await packs.reload();
  await packs.reload();
};
const tool = (more = ''): string => `{ description: 'd', argSchema: { type: 'object' }, ${more} }`;
const callOf = (more: Partial<Call> = {}): Call =>
  ({
    actor: { principal: 'me', level: 'read', door: 'rest' },
    tool: { name: 't_t', slug: 't', bundleSlug: 't' },
    requestId: 'req',
    signal: new AbortController().signal,
    progress: () => {},
    log: () => {},
    ...more,
  }) as Call;
const run = async (func: string, args: Record<string, unknown> = {}, call: Partial<Call> = {}): Promise<unknown> =>
  packs.find(func)!.run(args, callOf(call));
/** Aborts as the gate does at a tool's deadline. */
const within = (ms: number): { signal: AbortSignal } => {
  const stop = new AbortController();
  setTimeout(() => stop.abort(fail('tool.timeout', { tool: 't', timeoutMs: ms })), ms);
  return { signal: stop.signal };
};
const hasCode = (code: string) => (error: { code?: string }) => error.code === code;
const root = join(import.meta.dirname, '..', '..');
const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test('a file becomes a bundle with a tool for every function that says it is one', async () => {
  await write(
    'weather.ts',
    `import type { Call, ToolInfo } from 'oubliette';
     export const bundle = { displayName: 'Weather', description: 'Rain or shine' };
     export async function current(args: { city: string }, call: Call): Promise<object> { return { city: args.city, by: call.actor.principal }; }
     current.tool = { description: 'Now', argSchema: { type: 'object', properties: { city: { type: 'string' } } }, access: 'read', tags: ['sky'], example: 'weather.current(city="Ulm")', version: 'v2' } satisfies ToolInfo;
     export function get_rain() { return undefined; }
     get_rain.tool = ${tool()};
     export function helper() {}`,
  );
  const bundle = packs.bundles().find((each) => each.slug === 'weather');
  assert.deepEqual(
    [bundle?.slug, bundle?.displayName, bundle?.description, bundle?.kind],
    ['weather', 'Weather', 'Rain or shine', 'pack'],
  );
  assert.deepEqual(
    bundle?.tools.map((each) => [each.slug, each.version, each.level, each.isPublic]),
    [
      ['current', 'v2', 'read', true],
      ['get-rain', undefined, 'write', true],
    ],
  );
  assert.deepEqual(await run('weather.current', { city: 'Ulm' }), { city: 'Ulm', by: 'me' });
  assert.equal(await run('weather.get-rain'), null);
  assert.equal(packs.find('weather.helper'), undefined);
  assert.equal(packs.find('weather'), undefined);
});

test('a changed file is seen without being told, and a removed one is gone', async () => {
  await write('change.js', `export function f() { return 1 } f.tool = ${tool()}`);
  assert.equal(await run('change.f'), 1);
  const told = new Promise<void>((done) => packs.onChange(done));
  await writeFile(join(folder, 'change.js'), `export function f() { return 22 } f.tool = ${tool()}`);
  await told;
  assert.equal(await run('change.f'), 22);
  await rm(join(folder, 'change.js'));
  await until(() => packs.find('change.f') === undefined);
});

test('a broken file is named with its line, and the last good version stays', async () => {
  const good = `export function f() { return 'good' } f.tool = ${tool()}`;
  const broken: [string, number | undefined, RegExp][] = [
    [`export const a = 1;\nconst b = ;\n`, 2, /xpression expected|Unexpected token/],
    [`${good}\n\nthrow new Error('at import');`, 3, /at import/],
    [`enum A { B }`, 1, /enum/],
    [`import { x } from './nowhere.ts';`, undefined, /nowhere/],
    ['export const nothing = 1;', undefined, /exports no tool/],
    [`export function f() {} f.tool = { description: 'd' };`, undefined, /argSchema/],
    [`export function f() {} f.tool = { description: 'd', argSchema: { type: 'nonsense' } };`, undefined, /argSchema/],
    [`export function f() {} f.tool = ${tool("access: 'root'")};`, undefined, /access/],
    ['process.exit(3);', undefined, /ended/],
  ];
  for (const [source, line, message] of broken) {
    await write('fragile.ts', good);
    assert.equal(packs.problems().length, 0);
    await write('fragile.ts', source);
    const [problem] = packs.problems();
    assert.equal(problem?.file, 'fragile.ts');
    assert.match(problem?.message ?? '', message);
    if (line !== undefined) assert.equal(problem?.line, line, source);
    assert.equal(await run('fragile.f'), 'good', source);
  }
  await write('broken.js', 'export const a = 1;\nexport const b = ;');
  const bundle = packs.bundles().find((each) => each.slug === 'broken');
  assert.match(bundle?.disabledReason ?? '', /^broken\.js:2: /);
  await rm(join(folder, 'broken.js'));
  await write('fragile.ts', good);
  assert.deepEqual(packs.problems(), []);
});

test('an endless loop is ended at its deadline and nobody else notices', async () => {
  await write(
    'loop.ts',
    `export function forever() { for (;;); } forever.tool = ${tool()}; export function quick() { return 'quick' } quick.tool = ${tool("access: 'read'")}`,
  );
  await write('other.ts', `export function fine() { return 'fine' } fine.tool = ${tool()}`);
  const stuck = assert.rejects(run('loop.forever', {}, within(700)), hasCode('tool.timeout'));
  await new Promise((done) => setTimeout(done, 150));
  const answers = await Promise.all([run('other.fine'), run('loop.quick'), run('loop.quick')]);
  assert.deepEqual(answers, ['fine', 'quick', 'quick']);
  const started = performance.now();
  await stuck;
  assert.ok(performance.now() - started < patient(3_000));
  assert.equal(await run('loop.quick'), 'quick');
});

test('a call that was waiting when the process had to be ended runs again when it only reads', async () => {
  await write(
    'wait.ts',
    `export async function slow() { await new Promise((done) => setTimeout(done, 1500)); return 'slow' } slow.tool = ${tool("access: 'read'")};
    export function writes() { return new Promise(() => {}) } writes.tool = ${tool()};
    export function forever() { for (;;); } forever.tool = ${tool()}`,
  );
  const slow = run('wait.slow');
  const writes = run('wait.writes');
  await new Promise((done) => setTimeout(done, 50));
  const stuck = assert.rejects(run('wait.forever', {}, within(300)), hasCode('tool.timeout'));
  await assert.rejects(
    writes,
    (error: { code: string; retryable: boolean }) => error.code === 'tool.failed' && error.retryable,
  );
  assert.equal(await slow, 'slow');
  await stuck;
});

test('a pack that is replaced in mid-call finishes on the old version', async () => {
  const version = (n: number): string =>
    `let n = ${n}; export async function f() { await new Promise((done) => setTimeout(done, 400)); return n } f.tool = ${tool()}`;
  await write('swap.ts', version(1));
  const old = run('swap.f');
  await write('swap.ts', version(2));
  assert.deepEqual(await Promise.all([old, run('swap.f')]), [1, 2]);
});

test('what a pack throws or cannot say is an error with the place in its file', async () => {
  await write(
    'bad.ts',
    `
export function throws() { throw new Error('no such city'); }
throws.tool = ${tool()};
export function odd() { return 10n; } odd.tool = ${tool()};
export function circle() { const a: any = {}; a.a = a; return a; } circle.tool = ${tool()};
export function leaves() { process.exit(1); } leaves.tool = ${tool()};
export function nothing() { throw undefined; } nothing.tool = ${tool()};
export function wordless() { throw { toString() { throw 1; } }; } wordless.tool = ${tool()};
export function late() { setTimeout(() => { throw new Error('late'); }, 1); return new Promise(() => {}); } late.tool = ${tool()};`,
  );
  await assert.rejects(
    run('bad.throws'),
    (error: { code: string; message: string }) =>
      error.code === 'tool.failed' && error.message === 'throws: no such city (bad.ts:2)',
  );
  for (const name of ['odd', 'circle', 'leaves', 'nothing', 'late'])
    await assert.rejects(run(`bad.${name}`), hasCode('tool.failed'), name);
  await assert.rejects(run('bad.wordless'), /wordless: it threw something that cannot be put into words/);
  await assert.rejects(run('bad.throws'), /no such city/);
});

test('a pack calls other tools, reports and logs through its call', async () => {
  await write(
    'caller.ts',
    `export async function f(args, call) {
    call.progress({ progress: 1, total: 2, message: 'half' });
    call.log('info', 'working', { step: 1 });
    const refused = await call.invoke('secret_list').catch((error) => error.message);
    return { answer: await call.invoke('demo_foo', { text: 'x' }), tools: await call.list(), refused };
  } f.tool = ${tool()}`,
  );
  const seen: unknown[] = [];
  const invoke: Call['invoke'] = async (name, args) => {
    if (name === 'secret_list') throw fail('scope.denied', { message: 'not for you' });
    return { ok: true, value: [name, args], result: { value: null } };
  };
  const list: Call['list'] = async () =>
    [{ name: 'demo_foo', description: 'Foo' }] as Awaited<ReturnType<Call['list']>>;
  const answer = await run(
    'caller.f',
    {},
    { invoke, list, progress: (progress) => void seen.push(progress), log: (...entry) => void seen.push(entry) },
  );
  assert.deepEqual(answer, {
    answer: { ok: true, value: ['demo_foo', { text: 'x' }] },
    tools: [{ name: 'demo_foo', description: 'Foo' }],
    refused: 'not for you',
  });
  assert.deepEqual(seen, [{ progress: 1, total: 2, message: 'half' }, ['info', 'working', { step: 1 }]]);
});

test('what a pack tells in words of its own is taken as far as it makes sense, and never harms the server', async () => {
  await write(
    'odd.ts',
    `export async function tells(args, call) {
    for (const level of ['warning', 'constructor', null, 7]) call.log(level, 'loud', 'no fields');
    for (const progress of [undefined, null, 'half', { progress: 'half' }, { progress: 2 }]) call.progress(progress);
    return call.invoke(null).catch((error) => error.message);
  } tells.tool = ${tool()};
  export async function babbles({ what }) {
    for (let id = 1; id < 50; id++) process.send(what && { ...what, id });
    return new Promise(() => {});
  } babbles.tool = ${tool()};`,
  );
  const seen: unknown[] = [];
  const invoke: Call['invoke'] = async (name) => {
    throw fail('tool.not_found', { ref: name });
  };
  const heard = {
    invoke,
    progress: (each: unknown) => void seen.push(each),
    log: (level: string) => void seen.push(level),
  };
  assert.equal(await run('odd.tells', {}, heard), 'There is no tool null.');
  assert.deepEqual(seen, ['info', 'info', 'info', 'info', { progress: 2 }]);
  for (const what of [null, { type: 'done', ok: true }, { type: 'done', ok: true, json: '{' }])
    await assert.rejects(run('odd.babbles', { what }), hasCode('tool.failed'), JSON.stringify(what));
});

test('a call that nobody waits for any more is told so', async () => {
  await write(
    'abort.ts',
    `export async function f(_, call) { await new Promise((done) => call.signal.addEventListener('abort', done)); console.log('was stopped'); } f.tool = ${tool()}`,
  );
  await assert.rejects(run('abort.f', {}, within(50)), hasCode('tool.timeout'));
  await until(() => lines.includes('was stopped'));
});

test('a pack sees no environment, no open files of the server, and runs as nobody when the server is root', async () => {
  process.env['OUB_PACK_CANARY'] = 'canary';
  await write(
    'look.ts',
    `import { readFileSync } from 'node:fs';
    export function f() { let shadow = 'read'; try { readFileSync(${JSON.stringify(join(folder, '..'))} + '/../etc/shadow') } catch (error) { shadow = error.code }
      return { env: Object.keys(process.env).sort(), uid: process.getuid(), shadow } } f.tool = ${tool()}`,
  );
  const seen = (await run('look.f')) as { env: string[]; uid: number; shadow: string };
  delete process.env['OUB_PACK_CANARY'];
  assert.deepEqual(
    seen.env.filter(
      (name) =>
        ![
          'HOME',
          'LANG',
          'NODE_CHANNEL_FD',
          'NODE_CHANNEL_SERIALIZATION_MODE',
          'NODE_NO_WARNINGS',
          'PATH',
          'TZ',
        ].includes(name),
    ),
    [],
  );
  if (process.getuid?.() === 0) assert.deepEqual([seen.uid !== 0, seen.shadow], [true, 'EACCES']);
});

test('packs import files beside them, and a change there counts as a change of the pack', async () => {
  await mkdir(join(folder, 'lib'));
  await writeFile(join(folder, 'lib', 'value.ts'), 'export const value: number = 1;');
  await write(
    'importer.ts',
    `import { value } from './lib/value.ts'; export function f() { return value } f.tool = ${tool()}`,
  );
  assert.equal(await run('importer.f'), 1);
  await writeFile(join(folder, 'lib', 'value.ts'), 'export const value: number = 2222;');
  await packs.reload();
  await packs.reload();
  assert.equal(await run('importer.f'), 2222);
});

test('a file or a folder that others may write is refused', async () => {
  await write('open.ts', `export function f() {} f.tool = ${tool()}`);
  await chmod(folder, 0o755);
  await chmod(join(folder, 'open.ts'), 0o666);
  await packs.reload();
  await packs.reload();
  assert.match(packs.problems()[0]?.message ?? '', /written by others/);
  await rm(join(folder, 'open.ts'));
  await chmod(folder, 0o700);
  const loose = await mkdtemp(join(tmpdir(), 'oub-loose-'));
  await writeFile(join(loose, 'x.ts'), `export function f() {} f.tool = ${tool()}`);
  await chmod(loose, 0o777);
  const refused = await openPacks({ folder: loose, hostPath: entryPoint('sources/packs/pack-host'), log });
  assert.deepEqual(refused.bundles(), []);
  assert.match(refused.problems()[0]?.message ?? '', /can be written by others/);
  await refused.close();
  await rm(loose, { recursive: true });
});

test('a pack that hangs while it is loaded holds up nobody', async () => {
  const mine = await mkdtemp(join(tmpdir(), 'oub-packs-'));
  await writeFile(join(mine, 'hang.ts'), 'await new Promise(() => setInterval(() => {}, 1000));', { mode: 0o600 });
  await writeFile(join(mine, 'fine.ts'), `export function f() { return 1 } f.tool = ${tool()}`, { mode: 0o600 });
  const started = performance.now();
  const both = await openPacks({
    folder: mine,
    hostPath: entryPoint('sources/packs/pack-host'),
    log,
    lookEveryMs: 100,
  });
  assert.ok(performance.now() - started < patient(8_000));
  assert.equal(await both.find('fine.f')!.run({}, callOf()), 1);
  await both.close();
  await rm(mine, { recursive: true });
});

test('an endless loop ends with its server, however that ends', async () => {
  const mine = await mkdtemp(join(tmpdir(), 'oub-packs-'));
  await writeFile(
    join(mine, 'loop.ts'),
    `export function f() { for (;;); } f.tool = ${tool()}; export function pid() { return process.pid } pid.tool = ${tool()}`,
    { mode: 0o600 },
  );
  const program = `
    import { openPacks } from ${JSON.stringify(join(root, 'src/sources/packs/index.ts'))};
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const packs = await openPacks({ folder: ${JSON.stringify(mine)}, hostPath: ${JSON.stringify(entryPoint('sources/packs/pack-host'))}, log });
    const call = { actor: {}, tool: {}, signal: new AbortController().signal };
    console.log(await packs.find('loop.pid').run({}, call));
    packs.find('loop.f').run({}, call).catch(() => {});`;
  const server = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(server.stdout, 'data')) as [Buffer];
  const pid = Number(line.toString());
  assert.ok(pid > 0);
  server.kill('SIGKILL');
  await until(() => !isAlive(pid));
  await rm(mine, { recursive: true });
});

test('the copy of a pack whose process ended by itself goes when the pack is replaced', async () => {
  const source = `export function crash() { process.exit(1); }\ncrash.tool = ${tool("access: 'write'")};\n`;
  const copies = async (): Promise<Set<string>> =>
    new Set((await readdir(tmpdir())).filter((name) => name.startsWith(`oubliette-packs-${process.pid}-`)));
  const others = await copies();
  await write('crashing.ts', source);
  const [copy] = (await copies()).difference(others);
  assert.ok(copy);
  await assert.rejects(run('crashing.crash'), hasCode('tool.failed'));
  await write('crashing.ts', `${source}// changed`);
  await until(async () => !(await copies()).has(copy));
  await rm(join(folder, 'crashing.ts'));
  await packs.reload();
});

test('nothing is left behind', async () => {
  const mine = await mkdtemp(join(tmpdir(), 'oub-packs-'));
  await writeFile(join(mine, 'a.ts'), `export function f() {} f.tool = ${tool()}`, { mode: 0o600 });
  const before = new Set(await readdir(tmpdir()));
  const short = await openPacks({ folder: mine, hostPath: entryPoint('sources/packs/pack-host'), log });
  assert.equal(short.bundles().length, 1);
  await short.close();
  assert.deepEqual(
    (await readdir(tmpdir())).filter((name) => name.startsWith('oubliette-packs-') && !before.has(name)),
    [],
  );
  await rm(mine, { recursive: true });
});
