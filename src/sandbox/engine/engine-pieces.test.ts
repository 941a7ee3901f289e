import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { tailOf } from '../log-tail.ts';
import { containerBody, labelFilter, labelsOf, readLabels } from './container-spec.ts';
import { chooseVersion } from './engine-client.ts';
import { buildFailure } from './engine-images.ts';
import { demultiplex } from './log-frames.ts';
import { engineSockets } from './find-engine.ts';
import { narrowed } from './seccomp-profile.ts';

const spec = {
  id: 'box_1',
  labels: { session: 'ses_1', 'odd key': 'a=b' },
  workspace: '/host/w',
  mcp: '/host/m',
  spool: '/host/s',
  env: { KEY: 'secret' },
  limits: { memoryMb: 64, pids: 32, cpus: 0.5 },
  level: 'strict' as const,
};
const facts = { mcp: '/host/m', workspace: '/host/w', spool: '/host/s', diskMb: 10, missing: [] };

test('speaks the newest version that both sides know', () => {
  assert.equal(chooseVersion('1.41', '1.12'), '1.41');
  assert.equal(chooseVersion('1.52', '1.44'), '1.47');
  assert.equal(chooseVersion('1.70', '1.60'), '1.60');
  assert.equal(chooseVersion('1.39', '1.12'), undefined);
  assert.equal(chooseVersion('1.100', '1.9'), '1.47');
});

test('a container is closed in every way that level strict names', () => {
  const body = containerBody(spec, 'image:1', facts, { isRootlessPodman: false });
  const host = body.HostConfig;
  assert.deepEqual(
    [host.NetworkMode, host.ReadonlyRootfs, host.CapDrop, host.SecurityOpt, host.Privileged, host.IpcMode],
    ['none', true, ['ALL'], ['no-new-privileges'], false, 'private'],
  );
  assert.deepEqual(
    [host.Memory, host.MemorySwap, host.PidsLimit, host.NanoCpus],
    [64 * 2 ** 20, 64 * 2 ** 20, 32, 5e8],
  );
  assert.match(body.User, /^[1-9]\d*:[1-9]\d*$/);
  assert.deepEqual(
    host.Ulimits.map((each) => each.Name),
    ['nofile', 'nproc', 'core', 'fsize'],
  );
  assert.deepEqual(
    host.Mounts.map((each) => [each.Source, each.Target, each.ReadOnly]),
    [
      ['/host/w', '/workspace', false],
      ['/host/m', '/mcp', true],
      ['/host/s', '/spool', false],
    ],
  );
  assert.ok(host.Mounts.every((each) => each.Type === 'bind' && each.BindOptions.Propagation === 'rprivate'));
  assert.deepEqual(host.Ulimits[2], { Name: 'core', Soft: 0, Hard: 0 });
  assert.ok(host.Ulimits.every((each) => each.Soft === each.Hard));
  assert.deepEqual(host.Tmpfs, { '/tmp': `rw,nosuid,nodev,size=${256 * 2 ** 20},mode=1777` });
  assert.deepEqual([host.RestartPolicy, host.UsernsMode], [{ Name: 'no' }, undefined]);
  assert.ok(body.Env.includes('KEY=secret'));
  assert.ok(!JSON.stringify([body.Cmd, body.Entrypoint, body.Labels]).includes('secret'));
  const filtered = containerBody(spec, 'image:1', facts, {
    isRootlessPodman: true,
    seccompFile: '/host/f.json',
  });
  assert.deepEqual(
    [filtered.HostConfig.SecurityOpt, filtered.HostConfig.UsernsMode],
    [['no-new-privileges', 'seccomp=/host/f.json'], 'keep-id'],
  );
});

test('labels are read back as they were given, and filtered by', () => {
  const read = readLabels(labelsOf(spec, facts));
  assert.deepEqual([read.id, read.labels, read.facts], ['box_1', spec.labels, facts]);
  assert.equal(readLabels({ 'oubliette.facts': 'garbage' }).facts, undefined);
  assert.deepEqual(JSON.parse(labelFilter({ session: 'x' })).label, ['oubliette.box', 'oubliette.label.session=x']);
});

test('a build tells why it failed, with the words before', () => {
  const stream = [
    '{"stream":"Step 1"}',
    'garbage',
    '{"stream":"Step 2 "}',
    '{"errorDetail":{"message":"boom"},"error":"boom"}',
  ].join('\n');
  assert.equal(buildFailure(Buffer.from(stream)), 'Step 1Step 2\nboom');
  assert.equal(buildFailure(Buffer.from('{"stream":"all well"}\n')), undefined);
});

test('frames of both streams are put together; what is not framed is left alone', () => {
  const frame = (kind: number, text: string): Buffer =>
    Buffer.concat([Buffer.from([kind, 0, 0, 0, 0, 0, 0, text.length]), Buffer.from(text)]);
  assert.equal(demultiplex(Buffer.concat([frame(1, 'out\n'), frame(2, 'err\n')])).toString(), 'out\nerr\n');
  assert.equal(demultiplex(Buffer.from('plain text')).toString(), 'plain text');
});

test('the tail of a log is its last lines', () => {
  const log = Buffer.from('a\nb\nc\n');
  assert.deepEqual(
    [0, 1, 2, 3, 9].map((lines) => tailOf(log, lines)),
    ['', 'c\n', 'b\nc\n', 'a\nb\nc\n', 'a\nb\nc\n'],
  );
  assert.equal(tailOf(Buffer.from('a\nb'), 1), 'b');
  assert.equal(tailOf(Buffer.alloc(0), 5), '');
});

test('an engine that was named is used, and no other', async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'oub-find-'));
  t.after(() => rm(root, { recursive: true, force: true }));
  const socket = join(root, 'engine.sock');
  const server = createServer().listen(socket);
  t.after(() => server.close());
  assert.deepEqual(await engineSockets('docker', { DOCKER_HOST: `unix://${socket}` }), [socket]);
  assert.deepEqual(await engineSockets('podman', { CONTAINER_HOST: `unix://${socket}` }), [socket]);
  assert.deepEqual(await engineSockets('docker', { DOCKER_HOST: `unix://${root}/none` }), []);
  assert.deepEqual(await engineSockets('docker', { DOCKER_HOST: 'tcp://10.0.0.1:2375' }), []);
});

test('a profile loses what sandboxes escape through and keeps the rest', () => {
  const profile = narrowed({
    defaultAction: 'SCMP_ACT_ERRNO',
    syscalls: [
      { names: ['read', 'unshare', 'clone'], action: 'SCMP_ACT_ALLOW' },
      { names: ['ptrace'], action: 'SCMP_ACT_ALLOW' },
    ],
  }) as any;
  const allowed = profile.syscalls
    .filter((rule: any) => rule.action === 'SCMP_ACT_ALLOW' && !rule.args)
    .flatMap((rule: any) => rule.names);
  assert.deepEqual(allowed, ['read']);
  const clone = profile.syscalls.find((rule: any) => rule.names.includes('clone'));
  assert.deepEqual(clone.args, [{ index: 0, value: 0x7e020000, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }]);
});
