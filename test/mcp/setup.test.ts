import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { chmod, lstat, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parse as parseToml } from 'smol-toml';
import { parse as parseYaml } from 'yaml';
import { oubliette, startTestServer, type TestServer } from '../kit/running-server.ts';

let server: TestServer;
let person: string;
before(async () => {
  server = await startTestServer();
  person = await mkdtemp(join(tmpdir(), 'person-'));
});
after(async () => {
  await server.stop();
  await rm(person, { recursive: true, force: true });
});

const run = (...args: string[]) => runWith({}, ...args);
const runWith = (env: Record<string, string>, ...args: string[]) =>
  oubliette([...args, '--home', server.home, '--json'], {
    env: { HOME: person, XDG_CONFIG_HOME: '', CODEX_HOME: '', ...env },
  });
const put = async (file: string, text: string): Promise<void> => {
  await mkdir(dirname(join(person, file)), { recursive: true });
  await writeFile(join(person, file), text);
};
const get = (file: string) => readFile(join(person, file), 'utf8');

const files: Record<string, [string, (text: string) => { url?: string; token?: string }]> = {
  'claude-code': ['.claude.json', (text) => fromHttp(JSON.parse(text).mcpServers.oubliette)],
  'claude-desktop': [
    '.config/Claude/claude_desktop_config.json',
    (text) => ({ token: JSON.parse(text).mcpServers.oubliette.env.OUBLIETTE_API_KEY }),
  ],
  cursor: ['.cursor/mcp.json', (text) => fromHttp(JSON.parse(text).mcpServers.oubliette)],
  vscode: ['.config/Code/User/mcp.json', (text) => fromHttp(JSON.parse(text).servers.oubliette)],
  codex: ['.codex/config.toml', (text) => fromHttp((parseToml(text) as any).mcp_servers.oubliette, 'http_headers')],
  gemini: ['.gemini/settings.json', (text) => fromHttp(JSON.parse(text).mcpServers.oubliette)],
  opencode: ['.config/opencode/opencode.json', (text) => fromHttp(JSON.parse(text).mcp.oubliette)],
  droid: ['.factory/mcp.json', (text) => fromHttp(JSON.parse(text).mcpServers.oubliette)],
  zed: ['.config/zed/settings.json', (text) => fromHttp(JSON.parse(text).context_servers.oubliette)],
};
function fromHttp(entry: any, headers = 'headers'): { url: string; token: string } {
  return { url: entry.url ?? entry.httpUrl, token: entry[headers].Authorization.replace('Bearer ', '') };
}

for (const [client, [file, read]] of Object.entries(files))
  test(`setup ${client} writes an entry that works and --undo takes it back`, async () => {
    const done = await run('setup', client);
    assert.equal(done.code, 0, done.err);
    assert.match(done.err, /\+.*oub_\.\.\./);
    assert.doesNotMatch(done.err + done.out, /oub_[A-Za-z0-9]{8}/);
    const { url, token } = read(await get(file));
    if (url) assert.equal(url, server.mcpUrl);
    const ping = await fetch(server.mcpUrl, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
    });
    assert.equal(ping.status, 200);
    const undone = await run('setup', client, '--undo');
    assert.equal(undone.code, 0, undone.err);
    await assert.rejects(get(file));
    assert.equal((await server.fetch('/call/token_list', { method: 'POST', token, json: { args: {} } })).status, 401);
  });

test('what else is in the file stays, comments too, and undo survives a change by hand', async () => {
  const before = '{\n  // mine\n  "theme": "dark",\n  "context_servers": { "other": { "command": "x" } }\n}\n';
  await put('.config/zed/settings.json', before);
  assert.equal((await run('setup', 'zed')).code, 0);
  const after = await get('.config/zed/settings.json');
  assert.match(after, /\/\/ mine/);
  assert.match(after, /"other"/);
  assert.equal(await get('.config/zed/settings.json.oubliette-backup'), before);
  await put('.config/zed/settings.json', after.replace('dark', 'light'));
  assert.equal((await run('setup', 'zed', '--undo')).code, 0);
  const undone = await get('.config/zed/settings.json');
  assert.match(undone, /light/);
  assert.doesNotMatch(undone, /oubliette/);
  await put('.codex/config.toml', '# mine\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "y"\n');
  assert.equal((await run('setup', 'codex')).code, 0);
  assert.equal((await run('setup', 'codex')).code, 0);
  const toml = await get('.codex/config.toml');
  assert.match(toml, /# mine/);
  assert.equal(toml.match(/\[mcp_servers\.oubliette\]/g)?.length, 1);
  assert.ok((parseToml(toml) as any).mcp_servers.other);
});

test('undo goes back to what was there before the first setup, in its mode, however often it was set up', async () => {
  const file = '.cursor/mcp.json';
  const before = '{ "mcpServers": { "other": { "url": "http://127.0.0.1:9" } } }\n';
  await put(file, before);
  await chmod(join(person, file), 0o640);
  for (let i = 0; i < 2; i++) assert.equal((await run('setup', 'cursor')).code, 0);
  assert.equal((await stat(join(person, file))).mode & 0o777, 0o600);
  assert.equal((await run('setup', 'cursor', '--undo')).code, 0);
  assert.equal(await get(file), before);
  assert.equal((await stat(join(person, file))).mode & 0o777, 0o640);

  assert.equal((await run('setup', 'cursor')).code, 0);
  await put(file, (await get(file)).replace('"other"', '"another"'));
  assert.equal((await run('setup', 'cursor')).code, 0);
  assert.equal((await run('setup', 'cursor', '--undo')).code, 0);
  assert.deepEqual(Object.keys(JSON.parse(await get(file)).mcpServers), ['another']);
});

test('settings that are a link stay one', async () => {
  await put('dotfiles/claude.json', '{ "theme": "dark" }\n');
  await rm(join(person, '.claude.json'), { force: true });
  await symlink(join(person, 'dotfiles', 'claude.json'), join(person, '.claude.json'));
  assert.equal((await run('setup', 'claude-code')).code, 0);
  assert.ok((await lstat(join(person, '.claude.json'))).isSymbolicLink());
  assert.ok(JSON.parse(await get('dotfiles/claude.json')).mcpServers.oubliette);
  assert.equal((await run('setup', 'claude-code', '--undo')).code, 0);
  assert.ok((await lstat(join(person, '.claude.json'))).isSymbolicLink());
  assert.equal(await get('dotfiles/claude.json'), '{ "theme": "dark" }\n');
  await rm(join(person, '.claude.json'));
});

test('a link that leads nowhere is left as it is', async () => {
  const link = join(person, '.claude.json');
  await symlink(join(person, 'away', 'claude.json'), link);
  const refused = await run('setup', 'claude-code');
  assert.equal(refused.code, 1);
  assert.match(refused.err, /\.claude\.json cannot be read \(ENOENT\)\. It was left as it is/);
  assert.ok((await lstat(link)).isSymbolicLink());
  await rm(link);
});

test('two homes that set up one client do not undo each other into a dead entry', async () => {
  const other = await startTestServer();
  const runThere = (...args: string[]) => oubliette([...args, '--home', other.home], { env: { HOME: person } });
  try {
    await put('.cursor/mcp.json', '{ "mcpServers": { "mine": { "url": "http://127.0.0.1:1" } } }');
    assert.equal((await run('setup', 'cursor')).code, 0);
    assert.equal((await runThere('setup', 'cursor')).code, 0);
    assert.equal((await runThere('setup', 'cursor', '--undo')).code, 0);
    assert.ok(JSON.parse(await get('.cursor/mcp.json')).mcpServers.oubliette);
    assert.equal((await run('setup', 'cursor', '--undo')).code, 0);
    assert.deepEqual(Object.keys(JSON.parse(await get('.cursor/mcp.json')).mcpServers), ['mine']);
  } finally {
    await other.stop();
    await rm(join(person, '.cursor'), { recursive: true });
  }
});

test('what cannot be read is not replaced, and what cannot be written leaves no token behind', async () => {
  const live = async (): Promise<number> =>
    (await run('token', 'list')).json.tokens.filter((each: any) => !each.revoked).length;
  const before = await live();
  await mkdir(join(person, '.factory'), { recursive: true });
  await writeFile(join(person, '.factory', 'mcp.json'), Buffer.from('{ "theme": "\xe9" }', 'latin1'));
  const foreign = await run('setup', 'droid');
  assert.equal(foreign.code, 1);
  assert.match(foreign.err, /mcp\.json cannot be read \(ERR_ENCODING/);
  assert.deepEqual(await readFile(join(person, '.factory', 'mcp.json')), Buffer.from('{ "theme": "\xe9" }', 'latin1'));

  await put('.factory/mcp.json', '{}');
  await mkdir(join(person, '.factory', 'mcp.json.oubliette-backup'));
  const refused = await run('setup', 'droid');
  assert.equal(refused.code, 1);
  assert.match(refused.err, /mcp\.json cannot be written \(\w+\)\. It was left as it is/);
  assert.equal(await get('.factory/mcp.json'), '{}');
  assert.equal(await live(), before);
  await rm(join(person, '.factory'), { recursive: true });
});

test('a file that cannot be read is left alone, and an unknown client is bad usage', async () => {
  await put('.gemini/settings.json', '{ "broken": ');
  const refused = await run('setup', 'gemini');
  assert.equal(refused.code, 1);
  assert.equal(await get('.gemini/settings.json'), '{ "broken": ');
  assert.equal((await run('setup', 'netscape')).code, 2);
});

test('import clients finds what other clients have, keeps credentials as secrets, and takes it over', async () => {
  await put(
    '.claude.json',
    JSON.stringify({
      mcpServers: { files: { command: 'node', args: ['files.js'], env: { API_KEY: 'sk-1234567890', MODE: 'fast' } } },
    }),
  );
  await put(
    '.cursor/mcp.json',
    JSON.stringify({
      mcpServers: {
        files: { command: 'node', args: ['files.js'], env: { API_KEY: 'sk-1234567890', MODE: 'fast' } },
        docs: { url: 'https://docs.example.com/mcp', headers: { Authorization: 'Bearer abcdefghijkl' } },
      },
    }),
  );
  await put(
    '.config/Code/User/mcp.json',
    '{ "servers": { "asks": { "command": "x", "env": { "TOKEN": "${input:token}" } }, }, }',
  );
  await put('.codex/config.toml', '[mcp_servers.tomly]\ncommand = "python"\nargs = ["-m", "thing"]\n');
  const done = await run('import', 'clients');
  assert.equal(done.code, 0, done.err);
  assert.deepEqual(done.json.added.sort(), ['docs', 'files', 'tomly']);
  assert.deepEqual(done.json.found.find((each: any) => each.name === 'files').clients, ['claude-code', 'cursor']);
  assert.match(done.json.found.find((each: any) => each.name === 'asks').problem, /asks for token/);
  const config = await readFile(join(server.home, 'config.yaml'), 'utf8');
  assert.match(config, /\$\{FILES_API_KEY\}/);
  assert.match(config, /Bearer \$\{DOCS_AUTHORIZATION\}/);
  assert.doesNotMatch(config, /sk-1234567890|abcdefghijkl/);

  const before = await readFile(join(server.home, 'config.yaml'), 'utf8');
  const again = await run('import', 'clients');
  assert.deepEqual(again.json.added, []);
  assert.match(again.json.found.find((each: any) => each.name === 'files').problem, /there already/);
  assert.equal(await readFile(join(server.home, 'config.yaml'), 'utf8'), before);
});

test('import clients names the files that it cannot read', async () => {
  await rm(join(person, '.codex'), { recursive: true, force: true });
  await mkdir(join(person, '.codex', 'config.toml'), { recursive: true });
  const { err, code } = await run('import', 'clients', '--only', 'nothing');
  assert.equal(code, 0);
  assert.match(err, /config\.toml cannot be read \(EISDIR\): it is passed over\./);
  await rm(join(person, '.codex'), { recursive: true });
});

test('import clients keeps servers of one name apart, with the secrets of each, and leaves none of a refused one', async () => {
  const remote = (token: string) => ({
    command: 'npx',
    args: ['remote', '--header', 'Authorization:${AUTH_HEADER}'],
    env: { AUTH_HEADER: `Bearer ${token}` },
  });
  await put('.claude.json', JSON.stringify({ mcpServers: { twin: remote('token-of-claude') } }));
  await put(
    '.cursor/mcp.json',
    JSON.stringify({
      mcpServers: {
        twin: remote('token-of-cursor'),
        '': { url: 'https://x.example.com', headers: { 'X-Key': 'key-of-nobody' } },
      },
    }),
  );
  await put(
    '.codex/config.toml',
    '[mcp_servers.figma]\nurl = "https://figma.example.com/mcp"\nbearer_token_env_var = "FIGMA"\nenv_http_headers = { X-Team = "TEAM" }\n',
  );
  const done = await runWith({ FIGMA: 'token-of-figma', TEAM: 'blue' }, 'import', 'clients');
  assert.equal(done.code, 0, done.err);
  assert.deepEqual(done.json.added.sort(), ['figma', 'twin', 'twin-cursor']);
  const config = parseYaml(await readFile(join(server.home, 'config.yaml'), 'utf8')).servers;
  assert.deepEqual(config.twin.args, ['remote', '--header', 'Authorization:$${AUTH_HEADER}']);
  assert.equal(config.twin.env.AUTH_HEADER, 'Bearer ${TWIN_AUTH_HEADER}');
  assert.equal(config['twin-cursor'].env.AUTH_HEADER, 'Bearer ${TWIN_CURSOR_AUTH_HEADER}');
  assert.deepEqual(config.figma.headers, { 'X-Team': 'blue', Authorization: 'Bearer ${FIGMA_AUTHORIZATION}' });
  assert.equal(done.json.failed.length, 1);
  const { secrets } = (await run('secret', 'list')).json;
  const names = secrets.map((each: { name: string }) => each.name);
  assert.ok(names.includes('TWIN_AUTH_HEADER') && names.includes('TWIN_CURSOR_AUTH_HEADER'));
  assert.ok(!names.some((name: string) => name.includes('X_KEY')), names.join());
});
