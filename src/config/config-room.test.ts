import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { configFolder } from './fixtures/config-folder.ts';

const { at, put, open, refusal } = configFolder();

describe('reading', () => {
  test('missing files mean the defaults of the contract, and a commented example is written', async () => {
    const room = await open();
    assert.deepEqual(room.current(), {
      allowedHosts: [],
      aliases: {},
      snippets: {},
      servers: {},
      notify: { topics: [] },
      output: { maxInlineBytes: 50_000, resultTtlSeconds: 3600, previewLines: 10 },
      stats: { enabled: true, reportDirs: [] },
      docs: { baseUrl: 'https://onetool.beycom.online/reference/tools/' },
      fs: {},
      http: { allowedOrigins: [], maxBodyBytes: 4_194_304, allowRemoteConfig: false },
      code: { timeoutMs: 30_000, maxMemoryMb: 64, maxCalls: 1000 },
      agents: { default: 'embedded', known: {} },
      providers: {},
      sandbox: { driver: 'auto', level: 'basic', memoryMb: 2048, pids: 512, cpus: 2 },
      limits: {
        depth: 3,
        agents: 50,
        costUsd: 10,
        sessionsPerProject: 10,
        idleMinutes: 30,
        callerTimeoutMs: 60_000,
        reconnectGraceMs: 10_000,
      },
      retention: {},
      prompts: {},
    });
    const text = await readFile(at('config.yaml'), 'utf8');
    assert.ok(text.split('\n').every((line) => line === '' || line.startsWith('#')));
  });

  test('the commented example is a valid configuration when its comments are removed', async () => {
    await open();
    const text = await readFile(at('config.yaml'), 'utf8');
    await put('team.yaml', '');
    await put('config.yaml', text.replaceAll(/^# (?=[a-zA-Z]+:( |$)|  )/gm, ''));
    const again = await open();
    assert.equal(again.current().aliases['hue'], 'demo.foo');
    assert.equal(again.current().servers['docs']?.url, 'https://mcp.example.com/mcp');
  });

  test('takes every key', async () => {
    await put('prompts.yaml', 'packs: { excel: "instructions.." }\n');
    await put(
      'config.yaml',
      `version: 1
include: []
allowedHosts: [api.example.com, "*.example.org", "127.0.0.1:8080", 10.0.0.0/8]
aliases: { ws: brave.web_search }
snippets: { brv: { description: d, params: { topic: { description: t, example: Python }, count: { type: int, default: 5 } }, body: "..{{ topic }}.." } }
servers:  { github: { command: node, args: [x], env: {A: b}, cwd: /tmp, enabled: true, timeoutMs: 30000 }, docs: { url: "http://x/mcp", transport: http, headers: {A: b} }, s: {type: sse, url: "http://y/sse"} }
notify: { topics: [ { pattern: "status:*", file: status.yaml } ] }
output: { maxInlineBytes: 50001, resultTtlSeconds: 3601, previewLines: 11 }
stats: { enabled: false, reportDirs: [reports] }
docs: { baseUrl: "https://docs.example.com/" }
fs: { root: files }
http: { publicUrl: "https://x.example.com", allowedOrigins: ["https://y.example.com"], maxBodyBytes: 4194305, allowRemoteConfig: true }
code: { timeoutMs: 30001, maxMemoryMb: 65, maxCalls: 1001 }
agents: { default: claude, claude: { driver: acp, command: c, args: [a], env: {A: b} } }
providers: { main: { shape: openai, baseUrl: "http://m", secret: OPENAI_KEY, prices: { some-model: { in: 1.0, out: 4.0 } } } }
sandbox: { driver: podman, level: strict, memoryMb: 2049, pids: 513, cpus: 3 }
limits: { depth: 4, agents: 51, costUsd: 11, sessionsPerProject: 11, idleMinutes: 31, callerTimeoutMs: 60001, reconnectGraceMs: 10001 }
retention: { auditDays: 365, sessionDays: 30 }
`,
    );
    const settings = (await open()).current();
    assert.deepEqual(settings, {
      allowedHosts: ['api.example.com', '*.example.org', '127.0.0.1:8080', '10.0.0.0/8'],
      aliases: { ws: 'brave.web_search' },
      snippets: {
        brv: {
          description: 'd',
          params: { topic: { description: 't', example: 'Python' }, count: { type: 'int', default: 5 } },
          body: '..{{ topic }}..',
        },
      },
      servers: {
        github: { command: 'node', args: ['x'], env: { A: 'b' }, cwd: '/tmp', enabled: true, timeoutMs: 30_000 },
        docs: { url: 'http://x/mcp', transport: 'http', headers: { A: 'b' } },
        s: { type: 'sse', url: 'http://y/sse' },
      },
      notify: { topics: [{ pattern: 'status:*', file: 'status.yaml' }] },
      output: { maxInlineBytes: 50_001, resultTtlSeconds: 3601, previewLines: 11 },
      stats: { enabled: false, reportDirs: [at('reports')] },
      docs: { baseUrl: 'https://docs.example.com/' },
      fs: { root: at('files') },
      http: {
        publicUrl: 'https://x.example.com',
        allowedOrigins: ['https://y.example.com'],
        maxBodyBytes: 4_194_305,
        allowRemoteConfig: true,
      },
      code: { timeoutMs: 30_001, maxMemoryMb: 65, maxCalls: 1001 },
      agents: { default: 'claude', known: { claude: { driver: 'acp', command: 'c', args: ['a'], env: { A: 'b' } } } },
      providers: {
        main: {
          shape: 'openai',
          baseUrl: 'http://m',
          secret: 'OPENAI_KEY',
          prices: { 'some-model': { in: 1, out: 4 } },
        },
      },
      sandbox: { driver: 'podman', level: 'strict', memoryMb: 2049, pids: 513, cpus: 3 },
      limits: {
        depth: 4,
        agents: 51,
        costUsd: 11,
        sessionsPerProject: 11,
        idleMinutes: 31,
        callerTimeoutMs: 60_001,
        reconnectGraceMs: 10_001,
      },
      retention: { auditDays: 365, sessionDays: 30 },
      prompts: { excel: 'instructions..' },
    });
    assert.ok(Object.isFrozen(settings.servers['github']));
  });

  test('a section whose lines are all commented out counts as absent', async () => {
    await put('config.yaml', 'aliases:\n#  a: b\noutput:\n  previewLines:\n');
    const settings = (await open()).current();
    assert.deepEqual(settings.aliases, {});
    assert.equal(settings.output.previewLines, 10);
  });
});

describe('include', () => {
  test('merges in order, later files win, the including file wins over all, maps key by key', async () => {
    await put('one.yaml', 'aliases: { a: one.x, b: one.x, c: one.x }\nallowedHosts: [one.example]\n');
    await put('two.yml', 'aliases: { b: two.x, c: two.x }\nallowedHosts: [two.example]\n');
    await put('config.yaml', 'include: [one.yaml, two.yml]\naliases: { c: own.x }\n');
    const settings = (await open()).current();
    assert.deepEqual(settings.aliases, { a: 'one.x', b: 'two.x', c: 'own.x' });
    assert.deepEqual(settings.allowedHosts, ['two.example']);
  });

  test('a circle, a missing file, a file that is no YAML are refused with the line of the entry', async () => {
    await put('one.yaml', 'include: [two.yaml]\n');
    await put('two.yaml', '\ninclude:\n  - one.yaml\n');
    await put(
      'config.yaml',
      'include:\n  - one.yaml\n  - missing.yaml\n  - ../../../etc/passwd\n  - one.yaml/below.yaml\n',
    );
    const said = await refusal();
    assert.match(said, /two\.yaml:3: .*goes round in a circle/);
    assert.match(said, /config\.yaml:3: include names missing\.yaml, but there is no .*Make it or remove the entry/);
    assert.match(said, /config\.yaml:4: .*Only \.yaml and \.yml/);
    assert.match(said, /config\.yaml:5: include names one\.yaml\/below\.yaml, but there is no /);
  });

  test('a pipe is refused without waiting for a writer', { timeout: 60_000 }, async () => {
    execFileSync('mkfifo', [at('pipe.yaml')]);
    await put('config.yaml', 'include: [pipe.yaml]\n');
    assert.match(await refusal(), /pipe\.yaml:1: this is not a regular file/);
  });
});

describe('errors', () => {
  const cases: [name: string, text: string, expected: RegExp][] = [
    [
      'an unknown key names the known ones',
      'version: 1\nalloedHosts: []\n',
      /config\.yaml:2: unknown key "alloedHosts"\. Known here: .*allowedHosts/,
    ],
    [
      'an unknown key further down',
      'output:\n  maxBytes: 1\n',
      /config\.yaml:2: unknown key "output\.maxBytes"\. Known here: maxInlineBytes/,
    ],
    [
      'a wrong type',
      'stats: { enabled: "yes" }\n',
      /config\.yaml:1: "stats\.enabled" must be true or false; found "yes"/,
    ],
    ['a number where text is asked for', 'aliases:\n  a: 1\n', /config\.yaml:2: "aliases\.a" must be text/],
    ['a value out of range', 'code:\n  maxCalls: 0\n', /config\.yaml:2: "code\.maxCalls" must be >= 1; found 0/],
    ['another version', 'version: 2\n', /config\.yaml:1: "version" must be 1; found 2/],
    [
      'a word that is none of the choices',
      '\nsandbox: { driver: lxc }\n',
      /config\.yaml:2: "sandbox\.driver" must be one of: auto, docker, podman, bubblewrap; found "lxc"/,
    ],
    ['a missing key', 'snippets:\n  x: { description: d }\n', /config\.yaml:2: "snippets\.x" needs the key "body"/],
    ['a duplicate key', 'aliases: {}\nfs: {}\naliases: {}\n', /config\.yaml:3: this key stands twice/],
    ['broken syntax', 'aliases: {a: b\nfs: x', /config\.yaml:2: this is not valid YAML/],
    ['a list instead of a map', '- a\n', /config\.yaml:1: the file must be a map/],
    ['an unknown tag', 'fs: { root: !!js/function x }\n', /config\.yaml:1: .*Remove the tag/],
    ['an alias to nothing', 'aliases: *gone\n', /config\.yaml:1: /],
    ['__proto__', 'aliases:\n  __proto__: { a: b }\n', /config\.yaml:2: the key "__proto__" is not allowed/],
    ['a key of two lines', 'aliases:\n  "a\\nb": 5\n', /config\.yaml:2: a key holds a control character/],
    [
      'an alias that is no name',
      'aliases:\n  ws: demo.foo\n  web-search: demo.foo\n',
      /config\.yaml:3: aliases holds "web-search".* Use letters/,
    ],
    [
      'an alias that Python keeps for itself',
      'aliases: { import: demo.foo }\n',
      /config\.yaml:1: aliases holds "import"/,
    ],
    [
      'a server with command and url',
      'servers:\n  a: { command: x, url: "http://y" }\n',
      /config\.yaml:2: servers\.a has both command and url/,
    ],
    [
      'a server whose name is no name',
      'servers:\n  "a b": { command: x }\n',
      /config\.yaml:2: servers\.a b is no usable name/,
    ],
    [
      'a server that says two things of its kind',
      'servers:\n  a: { url: "http://y", type: http, transport: sse }\n',
      /config\.yaml:2: servers\.a has a type and a transport that disagree/,
    ],
    [
      'a url where a program is meant',
      'servers:\n  a: { url: "http://y", type: stdio }\n',
      /config\.yaml:2: servers\.a is of type stdio but has a url/,
    ],
    [
      'a program where a url is meant',
      'servers:\n  a: { command: x, type: http }\n  b: { command: x, transport: sse }\n',
      /config\.yaml:2: servers\.a is of type http but has a command\..*\n.*config\.yaml:3: servers\.b is of type sse but/,
    ],
    [
      'a url of another kind',
      'servers:\n  a: { url: "ftp://y" }\n',
      /config\.yaml:2: servers\.a has a url that does not start with http/,
    ],
    [
      'a default agent that is a map',
      'agents:\n  default: { driver: acp, command: x }\n',
      /config\.yaml:2: agents\.default must be the name of an agent/,
    ],
    [
      'an agent that is a word',
      'agents:\n  c: acp\n',
      /config\.yaml:2: agents\.c must be a map with driver and command/,
    ],
    ['a list where text is asked for', 'fs: { root: [a] }\n', /"fs\.root" must be text.*; found a list\./],
    ['a map where text is asked for', 'fs: { root: { a: b } }\n', /"fs\.root" must be text.*; found a map\./],
    [
      'a long text, unrepeated,',
      `output: { previewLines: ${'s'.repeat(41)} }\n`,
      /"output\.previewLines".*; found a long text\./,
    ],
    ['a documentation address that is none', 'docs: { baseUrl: "http://" }\n', /docs\.baseUrl must be a whole address/],
    ['an agent without command', 'agents:\n  c: { driver: acp }\n', /config\.yaml:2: agents\.c needs a command/],
    [
      'an agent with an unknown key',
      'agents:\n  c:\n    driver: acp\n    comand: x\n',
      /config\.yaml:4: unknown key "agents\.c\.comand"/,
    ],
    [
      'a URL among the hosts',
      'allowedHosts:\n  - a.example\n  - "http://b.example/x"\n',
      /config\.yaml:3: allowedHosts holds/,
    ],
    [
      'an origin with a slash at its end',
      'http:\n  allowedOrigins: ["https://a.example", "https://b.example/"]\n',
      /config\.yaml:2: http\.allowedOrigins holds "https:\/\/b\.example\/"/,
    ],
    ['any origin', 'http: { allowedOrigins: ["*"] }\n', /config\.yaml:1: http\.allowedOrigins holds "\*"/],
    [
      'a publicUrl that is none',
      'http: { publicUrl: example.com }\n',
      /config\.yaml:1: http\.publicUrl must be a whole address/,
    ],
  ];
  for (const [name, text, expected] of cases)
    test(`${name} is told with file, line and what to do`, async () => {
      await put('config.yaml', text);
      assert.match(await refusal(), expected);
    });

  test('all mistakes of both files are told at once', async () => {
    await put('config.yaml', 'a: 1\nb: 2\n');
    await put('prompts.yaml', 'packs: { x: 1 }\n');
    assert.equal((await refusal()).split('\n').length, 3);
  });

  test('bombs are refused quickly', { timeout: 60_000 }, async () => {
    let aliases = 'a: &a [x,x,x,x,x,x,x,x,x]\n';
    for (const [index, name] of [...'bcdefghijk'].entries())
      aliases += `${name}: &${name} [${Array(9).fill(`*${'abcdefghijk'[index]}`).join(',')}]\n`;
    await put('config.yaml', aliases);
    assert.match(await refusal(), /alias/i);
    await put('config.yaml', `aliases: ${'['.repeat(200_000)}`);
    assert.match(await refusal(), /nested too deep/);
    await put('config.yaml', `aliases: ${'{a: '.repeat(50_000)}`);
    assert.match(await refusal(), /config\.yaml:1: .*nested too deep/);
    await put('config.yaml', `include:${'\n  - "gone.yaml"'.repeat(100)}\n  - "a\\0.yaml"\n`);
    assert.match(await refusal(), /holds a NUL character/);
    const names = Array.from({ length: 101 }, (_, n) => `part${n}.yaml`);
    for (const name of names) await put(name, '');
    await put('config.yaml', `include: [${names.join(', ')}]\n`);
    assert.match(await refusal(), /config\.yaml:1: more than \d+ files are included/);
    await put(
      'config.yaml',
      `aliases:\n${Array.from({ length: 600 }, (_, i) => `${' '.repeat(i + 1)}a:`).join('\n')}\n`,
    );
    assert.match(await refusal(), /nested too deep/);
    await put('config.yaml', `# ${'x'.repeat(256 * 1024)}`);
    assert.match(await refusal(), /at most 262144/);
    await writeFile(at('config.yaml'), Buffer.from([0x61, 0x3a, 0x20, 0xff, 0xfe]));
    assert.match(await refusal(), /not UTF-8/);
  });
});
