import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { testServer, type TestServer } from '../kit/server.ts';

const run = promisify(execFile);
let server: TestServer;
let repositories: string;
let host: Server;
let port: number;

before(async () => {
  repositories = await mkdtemp(join(tmpdir(), 'oub-git-'));
  const work = join(repositories, 'work');
  await run('git', ['init', '-q', '-b', 'main', work]);
  await writeFile(join(work, 'hello.txt'), 'hello from git\n');
  const git = (...args: string[]) => run('git', ['-C', work, '-c', 'user.name=t', '-c', 'user.email=t@t', ...args]);
  await git('add', '.');
  await git('commit', '-q', '-m', 'one');
  await run('git', ['clone', '-q', '--bare', work, join(repositories, 'repo.git')]);
  host = createServer((request, response) => {
    const url = new URL(request.url!, 'http://x');
    const cgi = spawn('git', ['http-backend'], {
      env: {
        PATH: process.env['PATH'],
        GIT_PROJECT_ROOT: repositories,
        GIT_HTTP_EXPORT_ALL: '1',
        PATH_INFO: url.pathname,
        QUERY_STRING: url.search.slice(1),
        REQUEST_METHOD: request.method,
        CONTENT_TYPE: request.headers['content-type'] ?? '',
      },
    });
    request.pipe(cgi.stdin);
    const chunks: Buffer[] = [];
    cgi.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    cgi.on('close', () => {
      const all = Buffer.concat(chunks);
      const end = all.indexOf('\r\n\r\n');
      const headers = all
        .toString('latin1', 0, end)
        .split('\r\n')
        .map((line) => line.split(': ') as [string, string]);
      const status = Number(headers.find(([name]) => name === 'Status')?.[1].slice(0, 3) ?? 200);
      response
        .writeHead(status, Object.fromEntries(headers.filter(([name]) => name !== 'Status')))
        .end(all.subarray(end + 4));
    });
  });
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
  port = (host.address() as AddressInfo).port;
  server = await testServer();
});
after(async () => {
  await server.remove();
  host.close();
  await rm(repositories, { recursive: true });
});

test('a repository is cloned into a workspace where the egress of its project allows it', async () => {
  const url = `http://127.0.0.1:${port}/repo.git`;
  const open = (await server.call('project_create', { name: 'open', sandbox: { egress: [`127.0.0.1:${port}`] } }))
    .value;
  const clone = (project: any, body: object) =>
    server.ask('POST', `/workspaces/${project.default_workspace_id}/clone`, body);
  const done = await clone(open, { url });
  assert.deepEqual(
    [done.status, done.body.path, done.body.commit?.length],
    [201, 'repo', 40],
    JSON.stringify(done.body),
  );
  const file = await server.ask('GET', `/workspaces/${open.default_workspace_id}/files/repo/hello.txt`);
  assert.equal(file.body, 'hello from git\n');
  const inside = await server.call('container_exec', {
    project_id: open.id,
    command: 'cat repo/hello.txt && touch repo/mine && ls -A',
  });
  assert.match(inside.value.stdout, /hello from git\n[^]*repo/, JSON.stringify(inside));

  assert.deepEqual((await clone(open, { url })).body.error.code, 'request.invalid');
  assert.deepEqual((await clone(open, { url, path: '../out' })).status, 403);
  assert.deepEqual((await clone(open, { url: 'nonsense', path: 'n' })).status, 400);
  assert.deepEqual(
    (await clone(open, { url: `http://127.0.0.1:${port}/none.git` })).body.error.code,
    'source.unreachable',
  );
  const closed = (await server.call('project_create', { name: 'closed' })).value;
  const refused = await clone(closed, { url });
  assert.deepEqual([refused.status, refused.body.error.code], [400, 'host.not_allowed']);
  assert.match(refused.body.error.message, /not in the egress list of this project\. .* --egress 127\.0\.0\.1/);
  const left = await server.ask('GET', `/workspaces/${closed.default_workspace_id}/files/`);
  assert.deepEqual(left.body.entries, []);
});
