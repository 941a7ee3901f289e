import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, existsSync, globSync, readFileSync, symlinkSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { builtinModules } from 'node:module';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { cleanEnv, root, startTestServer } from './kit/running-server.ts';

const run = promisify(execFile);
let scratch: string;
let installed: string;

/** PATH without the Node of the project: what a person has on the machine. */
const machinePath = (process.env['PATH'] ?? '')
  .split(delimiter)
  .filter((folder) => !folder.includes('node_modules') && !folder.includes('node-gyp-bin'))
  .join(delimiter);
const env = () => ({ ...cleanEnv(), PATH: machinePath });

before(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'oub-package-'));
  const staging = join(scratch, 'staging');
  await run(process.execPath, [join(root, 'scripts', 'build.js'), join(staging, 'dist')], { cwd: root });
  for (const name of ['package.json', 'bin', 'docs', 'README.md', 'LICENSE', 'CHANGELOG.md'])
    if (existsSync(join(root, name))) cpSync(join(root, name), join(staging, name), { recursive: true });
  const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', scratch], {
    cwd: staging,
    env: env(),
  });
  await run('tar', ['-xzf', join(scratch, stdout.trim()), '-C', scratch]);
  installed = join(scratch, 'package');
  symlinkSync(join(root, 'node_modules'), join(installed, 'node_modules'));
});
after(() => rm(scratch, { recursive: true, force: true }));

test("the packed program shows its help under the machine's own Node", async () => {
  const { stdout: version } = await run('node', ['--version'], { env: env() });
  assert.ok(Number(version.slice(1).split('.')[0]) >= 20, version);
  const { stdout } = await run('node', [join(installed, 'bin', 'oubliette.js'), '--help'], { env: env() });
  assert.match(stdout, /^Usage: oubliette/);
  assert.match(stdout, /serve .*until Ctrl-C/);
});

test('the packed server serves: a tool is called, and all files that it needs are there', async () => {
  const server = await startTestServer({ program: join(installed, 'dist', 'cli.js') });
  try {
    const answer = await server.fetch('/call/demo_foo', { method: 'POST', json: { args: { text: 'hi' } } });
    assert.equal(answer.status, 200);
    assert.equal(((await answer.json()) as { ok: boolean }).ok, true);
    const programs = globSync('src/**/*.ts', { cwd: root, exclude: (name) => name.endsWith('.test.ts') }).flatMap(
      (file) =>
        [...readFileSync(join(root, file), 'utf8').matchAll(/\bentryPoint\(\s*'([^']+)'/g)].map((match) => match[1]!),
    );
    for (const name of programs)
      assert.ok(existsSync(join(installed, 'dist', `${name.replaceAll('/', '-')}.js`)), name);
  } finally {
    assert.equal(await server.stop(), 0);
  }
});

test('the tarball holds built JavaScript only, and every package that it imports is a dependency', () => {
  const files = globSync('**/*', { cwd: installed, exclude: (name) => name === 'node_modules' });
  assert.deepEqual(
    files.filter((file) => /\.tsx?$/.test(file) && !file.endsWith('.d.ts')),
    [],
  );
  const { dependencies, optionalDependencies } = JSON.parse(
    readFileSync(join(installed, 'package.json'), 'utf8'),
  ) as Record<string, object>;
  const allowed = new Set([...Object.keys(dependencies!), ...Object.keys(optionalDependencies!), ...builtinModules]);
  const missing = new Set<string>();
  const bundles = globSync('dist/*.js', { cwd: installed });
  assert.ok(bundles.length >= 5);
  for (const file of bundles)
    for (const match of readFileSync(join(installed, file), 'utf8').matchAll(
      /^(?:import|export)\b[^'"\n]*?\bfrom ?"([@\w][\w@/.:-]*)"|^import ?"([@\w][\w@/.:-]*)"/gm,
    )) {
      const specifier = (match[1] ?? match[2])!;
      const name = specifier.startsWith('@') ? specifier.split('/').slice(0, 2).join('/') : specifier.split('/')[0]!;
      if (!specifier.startsWith('node:') && !allowed.has(name)) missing.add(`${name} in ${file}`);
    }
  assert.deepEqual([...missing], []);
});
