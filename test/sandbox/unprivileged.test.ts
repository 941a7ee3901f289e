import assert from 'node:assert/strict';
import { execFile, spawn, spawnSync } from 'node:child_process';
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { probes } from './probes.ts';

const run = promisify(execFile);
const somebody = 4242;
const runner = new URL('./probe-runner.ts', import.meta.url).pathname;

/** Only root can become somebody else, and somebody else may not be able to read this folder. */
const isRoot = process.getuid?.() === 0;
const canTry =
  process.platform === 'linux' &&
  (!isRoot || spawnSync(process.execPath, ['--check', runner], { uid: somebody, gid: somebody }).status === 0);

if (canTry)
  test('without root bubblewrap holds at level basic, and says what it lacks', async (t) => {
    const home = await mkdtemp(join(tmpdir(), 'oub-nobody-'));
    t.after(() => rm(home, { recursive: true, force: true }));
    const secret = join(home, 'secret');
    await writeFile(secret, 'canary');
    await chmod(home, 0o755);
    if (isRoot) await chown(home, somebody, somebody);
    const victim = spawn('/bin/sleep', ['300'], { stdio: 'ignore', ...(isRoot && { uid: somebody }) });
    t.after(() => victim.kill('SIGKILL'));
    const fill = {
      HOST_SECRET: secret,
      HOST_CANARY: `canary${process.pid}`,
      HOST_PID: String(victim.pid),
      HOST_ABSTRACT: 'nobody',
      HOST_PORT: '1',
    };
    const env = { PATH: process.env['PATH'], HOME: home, TMPDIR: home, CANARY: fill.HOST_CANARY };
    const { stdout } = await run(process.execPath, [runner, JSON.stringify(fill)], {
      env,
      cwd: '/',
      ...(isRoot && { uid: somebody, gid: somebody }),
      timeout: 280_000,
    });
    const said = JSON.parse(stdout.trim().split('\n').at(-1)!);
    assert.notEqual(said.uid, 0);
    assert.equal(said.level, said.missing.length > 0 ? 'basic' : 'strict');
    assert.deepEqual(said.missing, said.probe.missing);
    for (const { name } of probes) assert.equal(said.results[name], 'held', name);
    assert.match(said.bomb, /fork/);
    assert.equal(victim.exitCode ?? victim.signalCode, null);
  });
