import assert from 'node:assert/strict';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { acpDriver, type AgentState, type Step } from '../../src/agents/index.ts';
import { bubblewrapDriver, engineDriver, sandboxUser, type SandboxDriver } from '../../src/sandbox/index.ts';
import { insidePaths } from '../../src/schema/index.ts';
import { hostAgent } from '../kit/agent-in-sandbox.ts';
import { openTestDriver, testDrivers, type TestDriver } from '../kit/sandboxes.ts';

const drivers = await testDrivers();
const shell = (
  script: string,
  timeoutMs = 20_000,
  maxBytes = 10_000,
): { command: string[]; timeoutMs: number; maxBytes: number } => ({
  command: ['/bin/sh', '-c', script],
  timeoutMs,
  maxBytes,
});

/** A second driver on the same machine, as a restarted server would have. */
function again(kit: TestDriver, folder: string): SandboxDriver {
  return kit.engine
    ? engineDriver({ name: kit.engine.name, sockets: [kit.engine.socket], folder })
    : bubblewrapDriver({ folder });
}

for (const name of drivers)
  describe(`the ${name} driver`, () => {
    let kit: TestDriver;
    let driver: SandboxDriver;
    before(async () => {
      kit = await openTestDriver(name);
      driver = kit.driver;
      await driver.buildBase();
    });
    after(() => kit.close());
    const runFolder = async (): Promise<string> => join((await kit.spec()).workspace, '../../run');

    test('says what it is and how closed it is', async () => {
      const probe = await driver.probe(true);
      assert.deepEqual([probe.driver, probe.available, probe.level, probe.missing], [name, true, 'strict', []]);
      assert.ok(probe.version && probe.where);
    });

    test('runs commands with their streams apart, an exit code, a working folder and bounds', async () => {
      const spec = await kit.spec({ env: { GIVEN: 'value' } });
      await driver.start(spec);
      const told = await driver.exec(spec.id, {
        ...shell('echo out; echo err >&2; pwd; echo $GIVEN $MORE; exit 3'),
        env: { MORE: 'and more' },
      });
      assert.deepEqual(told, {
        exit_code: 3,
        stdout: 'out\n/workspace\nvalue and more\n',
        stderr: 'err\n',
        timed_out: false,
        truncated: false,
      });
      const cut = await driver.exec(spec.id, shell('yes | head -c 100000', 20_000, 5000));
      assert.deepEqual([cut.stdout.length, cut.truncated], [5000, true]);
      const late = await driver.exec(spec.id, shell('sleep 60 & sleep 60', 300));
      assert.deepEqual([late.timed_out, late.exit_code], [true, null]);
      const fed = await driver.exec(spec.id, { ...shell('cat'), stdin: 'fed' });
      assert.equal(fed.stdout, 'fed');
      const missing = await driver.exec(spec.id, { command: ['/no/such'], timeoutMs: 60_000, maxBytes: 1000 });
      assert.deepEqual([missing.exit_code, missing.stderr], [127, '/no/such: not found\n']);
      const nowhere = await driver.exec(spec.id, { ...shell('pwd'), workdir: '/nowhere' });
      assert.deepEqual([nowhere.exit_code, nowhere.stderr], [126, '/nowhere: no such folder\n']);
      assert.equal((await driver.exec(spec.id, shell('kill -9 $$'))).exit_code, 137);
      const abort = new AbortController();
      const cancelled = driver.exec(spec.id, { ...shell('sleep 60'), signal: abort.signal });
      await pause(50);
      abort.abort();
      assert.equal((await cancelled).exit_code, null);
      await driver.remove(spec.id);
      await assert.rejects(driver.exec(spec.id, shell('true')), /not running/);
    });

    test('a command that cannot be started ends like in a shell, and the sandbox goes on', async () => {
      const spec = await kit.spec();
      await driver.start(spec);
      const run = async (command: string[], workdir?: string): Promise<[number | null, string]> => {
        const { exit_code, stderr } = await driver.exec(spec.id, {
          command,
          timeoutMs: 60_000,
          maxBytes: 1000,
          ...(workdir !== undefined && { workdir }),
        });
        return [exit_code, stderr];
      };
      assert.deepEqual(await run(['/bin/true'], '/etc/passwd'), [126, '/etc/passwd: no such folder\n']);
      assert.deepEqual(await run(['/bin/true'], `/${'d'.repeat(300)}`), [126, `/${'d'.repeat(300)}: no such folder\n`]);
      assert.deepEqual(await run(['/bin/echo', 'x'.repeat(131_072)]), [126, '/bin/echo: the arguments are too long\n']);
      assert.deepEqual(await run(['/etc/passwd/x']), [126, '/etc/passwd/x: not a directory\n']);
      assert.deepEqual(await run(['']), [127, ': not found\n']);
      assert.equal((await driver.exec(spec.id, shell('echo on'))).stdout, 'on\n');
      await driver.remove(spec.id);
    });

    test('writes workspace files as the sandbox user and keeps them', async () => {
      const spec = await kit.spec();
      await driver.start(spec);
      await driver.exec(spec.id, shell('echo text > file'));
      await driver.remove(spec.id);
      assert.equal(await readFile(join(spec.workspace, 'file'), 'utf8'), 'text\n');
      assert.equal((await stat(join(spec.workspace, 'file'))).uid, sandboxUser().uid);
    });

    test('is found again, with its labels, by a later server, which can use and remove it', async () => {
      const spec = await kit.spec({ labels: { session: 'ses_1', project: 'proj_1' } });
      await driver.start(spec);
      const later = again(kit, await runFolder());
      const [found, ...others] = await later.list({ session: 'ses_1' });
      assert.deepEqual([found?.id, found?.status, found?.labels, others.length], [spec.id, 'running', spec.labels, 0]);
      assert.deepEqual(await later.list({ session: 'ses_1', project: 'other' }), []);
      assert.equal((await later.exec(spec.id, shell('echo here'))).stdout, 'here\n');
      await later.remove(spec.id);
      assert.equal(await later.get(spec.id), undefined);
      assert.deepEqual(await later.list({ session: 'ses_1' }), []);
      await later.close();
    });

    test('ends all processes, also those that ignore signals and left their group', async () => {
      const spec = await kit.spec();
      await driver.start(spec);
      await driver.exec(spec.id, shell(`(trap "" TERM HUP; setsid ${nap} </dev/null >/dev/null 2>&1 &); true`));
      const waiting = driver.wait(spec.id);
      await driver.stop(spec.id, 1000);
      assert.equal((await driver.get(spec.id))?.status, 'exited');
      assert.equal(typeof (await waiting).exitCode, 'number');
      assert.equal(await naps(), 0);
      await driver.stop(spec.id, 1000);
      await driver.remove(spec.id);
      await driver.remove(spec.id);
    });

    test('ends with its supervisor, whatever else still runs in it', async () => {
      const spec = await kit.spec({ env: { OUBLIETTE_LONELY_MS: '4000' } });
      await driver.start(spec);
      await driver.exec(spec.id, shell(`(setsid ${nap} </dev/null >/dev/null 2>&1 &); true`));
      assert.deepEqual(await driver.wait(spec.id), { exitCode: 0 });
      assert.equal(await naps(), 0);
    });

    test('keeps the last lines of what the first process wrote, and its exit code', async () => {
      const spec = await kit.spec({
        command: ['/bin/sh', '-c', 'for i in 1 2 3 4 5; do echo line $i; done; sleep 0.2; exit 7'],
      });
      await driver.start(spec);
      assert.deepEqual(await driver.wait(spec.id), { exitCode: 7 });
      assert.equal((await driver.logs(spec.id, 2)).trim(), 'line 4\nline 5');
      assert.equal(await driver.logs('box_unknown', 2), '');
    });

    test('a fork bomb hits its limit and the sandbox can still be ended', async () => {
      const spec = await kit.spec();
      await driver.start(spec);
      const bomb = `i=0; while [ $i -lt 300 ]; do ${nap} & i=$((i+1)); done 2>&1 | head -c 200; ls -d /proc/[0-9]* | wc -l`;
      const result = await driver
        .exec(spec.id, shell(bomb, 3000))
        .catch((error: Error) => ({ stdout: '', stderr: error.message }));
      assert.ok((await naps()) < 64, result.stdout);
      await driver.remove(spec.id);
      assert.equal(await naps(), 0);
    });

    test('an agent that eats all memory is ended, its sandbox lives and says so', async () => {
      const spec = await kit.spec({ limits: { memoryMb: 128, pids: 64, cpus: 2 } });
      const host = await hostAgent({
        sandbox: spec,
        config: {
          driver: 'acp',
          command: '/usr/bin/node',
          args: ['-e', 'const a = []; for (;;) a.push(Buffer.alloc(1e6, 1))'],
        },
      });
      await driver.start(spec);
      const end = await host.until((event) => event.type === 'error');
      assert.match(JSON.stringify(end), /SIGKILL|heap|memory|code 13[47]/);
      await host.link.close();
      await driver.remove(spec.id);
    });

    test('kills a sandbox that fills the disk and says why', async () => {
      const spec = await kit.spec({ limits: { memoryMb: 512, pids: 64, cpus: 2, diskMb: 20 } });
      await driver.start(spec);
      await pause(300);
      void driver.exec(spec.id, shell('dd if=/dev/zero of=big bs=1M count=60; sleep 60', 60_000)).catch(() => {});
      const end = await driver.wait(spec.id);
      assert.equal(end.reason, 'disk full');
      await driver.remove(spec.id);
    });

    test('a single file cannot grow beyond its limit', async () => {
      const spec = await kit.spec({ limits: { memoryMb: 512, pids: 64, cpus: 2, fileMb: 8 } });
      await driver.start(spec);
      await driver.exec(spec.id, shell('dd if=/dev/zero of=big bs=1M count=20'));
      assert.equal((await stat(join(spec.workspace, 'big'))).size, 8 * 2 ** 20);
      const tmp = await driver.exec(
        spec.id,
        shell('for i in 1 2 3 4; do dd if=/dev/zero of=/tmp/f$i bs=1M count=1 2>/dev/null; done; du -sm /tmp'),
      );
      assert.match(tmp.stdout, /^2\s/);
      await driver.remove(spec.id);
    });

    test('refuses a second sandbox of the same id and an image that is not there', async () => {
      const spec = await kit.spec();
      await driver.start(spec);
      await assert.rejects(driver.start(spec), { code: 'sandbox.failed' });
      assert.equal((await driver.get(spec.id))?.status, 'running');
      const foreign = await kit.spec({ image: 'no-such-image:1' });
      await assert.rejects(driver.start(foreign), (error: { code: string }) =>
        ['sandbox.unavailable', 'not_supported'].includes(error.code),
      );
      assert.equal(await driver.get(foreign.id), undefined);
      await driver.remove(spec.id);
    });

    test('the embedded agent does a whole turn, and one that outlives its server', async () => {
      const spec = await kit.spec();
      const first = await hostAgent({ sandbox: spec, config: { driver: 'embedded' } });
      await driver.start(spec);
      first.do((state) => agentPrompt(state, 'sum([1, 2, 3])'));
      assert.deepEqual(await first.until((event) => event.type === 'completion'), {
        type: 'completion',
        stop_reason: 'end_turn',
        text: '6',
      });
      // Killed right after the prompt was stored: it may have been sent or not.
      first.do((state) => agentPrompt(state, 'x = 0\nfor i in range(300000):\n    x = x + 1\nx'));
      const kept = await first.crash();
      const second = await hostAgent({ sandbox: spec, config: { driver: 'embedded' }, kept });
      await second.until((event) => event.type === 'completion' && event.text === '300000');
      assert.equal(second.kept.events.filter((event) => event.type === 'completion').length, 2);
      await second.link.close();
      await driver.remove(spec.id);
    });

    test('leaves nothing behind', async () => {
      for (const sandbox of await driver.list()) await driver.remove(sandbox.id);
      assert.deepEqual(await driver.list(), []);
      const lines = await commandLines();
      assert.ok(!lines.some((line) => line.includes(insidePaths.supervisor) && line.includes(`t${process.pid}_`)));
    });
  });

const agentPrompt = (state: AgentState, text: string): Step => acpDriver.prompt(state, { text });

/** A command that no other process on this machine has. */
const nap = `sleep ${1_000_000 + process.pid}`;

const naps = async (): Promise<number> =>
  (await commandLines()).filter((line) => line.includes(nap.replace(' ', '\0'))).length;

async function commandLines(): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry));
  return Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
}
