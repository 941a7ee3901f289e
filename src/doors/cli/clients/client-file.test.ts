import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withServer } from './client-file.ts';
import { knownClients } from './known-clients.ts';

const clientFor = (format: 'json' | 'toml') =>
  knownClients.find((each) => each.name === (format === 'json' ? 'cursor' : 'codex'))!;
const entry = { url: 'http://127.0.0.1:4777/mcp/run' };
const set = (format: 'json' | 'toml', text: string): string =>
  withServer(clientFor(format), text, 'the file', 'oubliette', entry);
const unset = (format: 'json' | 'toml', text: string): string =>
  withServer(clientFor(format), text, 'the file', 'oubliette', undefined);

test('a byte order mark, line ends and tabs stay as they are', () => {
  const json = set('json', '\ufeff{\r\n\t"a": 1\r\n}\r\n');
  assert.match(json, /^\ufeff\{\r\n\t"a": 1,\r\n\t"mcpServers": \{\r\n\t\t"oubliette": \{/);
  assert.equal(json.replaceAll('\r\n', '').includes('\n'), false);
  const toml = set('toml', '\ufeffa = 1\r\n');
  assert.equal(toml, `\ufeffa = 1\r\n\r\n[mcp_servers.oubliette]\r\nurl = "${entry.url}"\r\n`);
});

test('what is empty where the servers should be is filled, and can be emptied again', () => {
  const filled = set('json', '{"mcpServers": null}');
  assert.deepEqual(JSON.parse(filled), { mcpServers: { oubliette: entry } });
  assert.deepEqual(JSON.parse(unset('json', filled)), { mcpServers: {} });
  assert.equal(unset('json', '{"mcpServers": null}'), '{"mcpServers": null}');
});

for (const [place, text, left] of [
  [
    'first',
    '{\n  "mcpServers": {\n    "oubliette": { "url": "x" },\n    // mine\n    "other": {} // too\n  }\n}\n',
    '{\n  "mcpServers": {\n    // mine\n    "other": {} // too\n  }\n}\n',
  ],
  [
    'last',
    '{\r\n  "mcpServers": {\r\n    "other": {}, // mine\r\n    "oubliette": { "url": "x" }\r\n    /* end */\r\n  }\r\n}',
    '{\r\n  "mcpServers": {\r\n    "other": {} // mine\r\n    /* end */\r\n  }\r\n}',
  ],
  [
    'in a line with others',
    '{"mcpServers": { // all\n"oubliette": {"url": "x"} /* ours */, "other": {}, }}',
    '{"mcpServers": { // all\n /* ours */ "other": {}, }}',
  ],
  ['alone', '{"mcpServers": {"oubliette": {"url": "x"} /* gone */}}', '{"mcpServers": { /* gone */}}'],
] as const)
  test(`comments around our entry survive when it is taken out: ${place}`, () => {
    assert.equal(unset('json', text), left);
  });

test('comments of the next table survive when our table before it is replaced', () => {
  const text = '[mcp_servers.oubliette]\n# ours\nurl = "old"\n\n# not ours\n[profiles.x]\na = 1\n';
  assert.match(set('toml', text), /^\n# not ours\n\[profiles\.x\]\na = 1\n\n\[mcp_servers\.oubliette\]\n/);
  assert.equal(unset('toml', text), '\n# not ours\n[profiles.x]\na = 1\n');
});

for (const [format, text] of [
  ['json', '{"mcpServers": []}'],
  ['json', '{"mcpServers": {}, "mcpServers": {"other": {"url": "x"}}}'],
  ['toml', '[mcp_servers]\noubliette = { url = "x" }\n'],
  ['toml', 'mcp_servers.oubliette.url = "x"\n'],
  ['toml', '[mcp_servers.oubliette]\nargs = [\n  ["a"],\n]\n[other]\nb = 1\n'],
  ['toml', '[other]\ntext = """\n[mcp_servers.oubliette]\n"""\n[more]\n'],
] as const)
  test(`a text that would not say what it should afterwards is refused: ${JSON.stringify(text)}`, () => {
    assert.throws(() => set(format, text), /the file is written in a way .* Add mcp_?[sS]ervers\.oubliette by hand\./);
  });
