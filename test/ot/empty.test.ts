import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { config, otServer, type OtServer } from './bench-server.ts';
import { until } from '../kit/until.ts';

let server: OtServer;
before(async () => {
  server = await otServer('');
});
after(() => server.remove());

const reconfigure = async (text: string): Promise<void> => {
  await writeFile(join(server.home, 'config.yaml'), text);
  await server.call('ot_reload');
};

test('an empty configuration answers empty values', async () => {
  await reconfigure('');
  assert.equal(await server.run('ot.config()'), '{aliases: {}, snippets: {}, servers: []}');
});

test('ot.health() tells version, language level, folder, tools and servers', async () => {
  await reconfigure(config);
  await until(async () => parse(await server.run('ot.health()')).proxy.servers.github === 'connected');
  const text = await server.run('ot.health()');
  assert.match(
    text,
    /^version: "\d+\.\d+\.\d+"\npython: "3\.\d+"\nnode: "[\d.]+"\ncwd: .+\nregistry: \{status: ok, tool_count: \d+\}\nproxy: \{status: ok, server_count: 1, servers: \{github: connected\}\}$/,
  );
  assert.equal(await server.run('len(ot.tools(info="list"))'), String(parse(text).registry.tool_count));
});

test('a server that is down is disconnected and degrades; one that is switched off does not', async () => {
  await reconfigure(
    'servers: { gone: { command: /nonexistent/program }, off: { command: /nonexistent/program, enabled: false } }',
  );
  await until(async () => parse(await server.run('ot.health()')).proxy.servers.gone === 'disconnected');
  assert.equal(parse(await server.run('ot.health()')).proxy.status, 'degraded');
  await reconfigure('servers: { off: { command: /nonexistent/program, enabled: false } }');
  await until(async () => parse(await server.run('ot.health()')).proxy.server_count === 1);
  assert.equal(parse(await server.run('ot.health()')).proxy.status, 'ok');
});

test('a pack that is broken is named with its line and the reason, to those who may see every bundle', async () => {
  await reconfigure('');
  const file = join(server.home, 'packs', 'weather.ts');
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await writeFile(file, '\nexport const x = ;\n', { mode: 0o600 });
  const health = async (token?: string): Promise<any> => parse(await server.run('ot.health()', token));
  const [warning] = await until(async () => (await health()).warnings);
  assert.match(warning, /^weather\.ts:2: /);
  assert.equal((await health()).proxy.status, 'ok');
  assert.equal((await health(await server.tokenFor('read', ['ot', 'code']))).warnings, undefined);
  await rm(file);
  await until(async () => !(await health()).warnings);
});

test('ot.notify() appends a YAML document to the file of the matching topic', async () => {
  await reconfigure(config);
  const message = 'Remember to review PR #123: "quoted"\n--- and\n... more';
  const file = join(server.home, 'notes', 'notes.yaml');
  assert.equal(
    await server.run(`ot.notify(topic="notes", message=${JSON.stringify(message)})`),
    `OK: notes -> ${file}`,
  );
  await server.run('ot.notify(topic="notes", message="second")');
  const documents = parseAllDocuments(await readFile(file, 'utf8')).map((each) => each.toJS());
  assert.deepEqual(
    documents.map(({ topic, message: text }) => [topic, text]),
    [
      ['notes', message],
      ['notes', 'second'],
    ],
  );
  assert.ok(Date.parse(documents[0].ts) > 0);
  assert.match(
    await server.run('ot.notify(topic="status:build", message="x")'),
    /^OK: status:build -> .*deep\/status\.yaml$/,
  );
});

test('of several patterns that match a topic the first one counts', async () => {
  await reconfigure('notify: { topics: [ { pattern: "ci:*", file: ci.yaml }, { pattern: "*", file: rest.yaml } ] }');
  assert.match(await server.run('ot.notify(topic="ci:done", message="x")'), /^OK: ci:done -> .*ci\.yaml$/);
  assert.match(await server.run('ot.notify(topic="else", message="x")'), /^OK: else -> .*rest\.yaml$/);
});

test('a topic that nothing matches is skipped', async () => {
  await reconfigure(config);
  assert.equal(await server.run('ot.notify(topic="unknown:topic", message="test")'), 'SKIP: no matching topic');
  for (const topic of ['../../etc/passwd', 'notes2', 'status', ''])
    assert.equal(await server.run(`ot.notify(topic="${topic}", message="x")`), 'SKIP: no matching topic');
});

test('a star stands for anything, also for nothing', async () => {
  await reconfigure('notify: { topics: [ { pattern: "*ci*:done", file: ci.yaml } ] }');
  for (const topic of ['ci:done', 'a ci b:done', 'cici:done'])
    assert.match(await server.run(`ot.notify(topic="${topic}", message="x")`), /^OK: .* -> .*ci\.yaml$/, topic);
  for (const topic of ['c:done', 'ci:done ', 'ci'])
    assert.equal(await server.run(`ot.notify(topic="${topic}", message="x")`), 'SKIP: no matching topic', topic);
});

test('a note that cannot be written is answered as an error', async () => {
  await mkdir(join(server.home, 'notes', 'taken.yaml'), { recursive: true });
  await reconfigure('notify: { topics: [ { pattern: "*", file: taken.yaml } ] }');
  assert.match(await server.run('ot.notify(topic="x", message="y")'), /^Error: Cannot write to '.*taken\.yaml': /);
});

test('ot.reload() reads the configuration from disk', async () => {
  await writeFile(join(server.home, 'config.yaml'), 'aliases: { fresh: demo.foo }\n');
  assert.equal(await server.run('ot.reload()'), 'OK: Configuration reloaded');
  assert.equal(await server.run('ot.aliases()'), '[fresh -> demo.foo]');
});

test('a broken configuration is reported with file and line, and the old one keeps serving', async () => {
  await reconfigure('aliases: { fresh: demo.foo }\n');
  await writeFile(join(server.home, 'config.yaml'), 'aliases: { other: demo.bar }\n  bad: [\n');
  assert.match(await server.run('ot.reload()'), /^Error: .*config\.yaml:\d+/s);
  assert.equal(await server.run('ot.aliases()'), '[fresh -> demo.foo]');
});

test('ot.version() is the version string', async () => {
  const { version } = JSON.parse(await readFile(join(import.meta.dirname, '../../package.json'), 'utf8'));
  assert.equal(await server.run('ot.version()'), version);
  assert.equal(parse(await server.run('ot.health()')).version, version);
});
