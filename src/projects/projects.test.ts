import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { openConfig } from '../config/index.ts';
import { openSandboxes } from '../sandbox/index.ts';
import type { Actor, Failure } from '../schema/index.ts';
import {
  Database,
  openProjects,
  openSessions,
  type ProjectWish,
  type SessionRow,
  type SessionTables,
} from '../store/index.ts';
import { sessionRow } from '../../test/kit/session-row.ts';
import { projects, type Projects } from './index.ts';

let folder: string;
let db: Database;
let room: Projects;
let sessions: SessionTables;
let config: Awaited<ReturnType<typeof openConfig>>;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oub-projects-'));
  await mkdir(join(folder, 'projects'));
  db = new Database(join(folder, 'state.db'));
  config = await openConfig({
    config: join(folder, 'config.yaml'),
    prompts: join(folder, 'prompts.yaml'),
    run: folder,
  });
  sessions = await openSessions(db);
  room = projects({
    db,
    tables: await openProjects(db),
    sessions,
    forgetSession: () => {},
    folder: join(folder, 'projects'),
    settings: () => config.current(),
    sandboxes: openSandboxes({ folder: join(folder, 'sandbox'), sockets: { docker: [], podman: [] } }),
    knownBundles: () => ['ot', 'text', 'demo', 'fs'],
    fetch: async () => {
      throw new Error('nothing is fetched here');
    },
  });
});
afterEach(async () => {
  config.close();
  await db.close();
  await rm(folder, { recursive: true });
});

const admin: Actor = { kind: 'local', door: 'rest', principal: 'local', level: 'admin' };
const writer: Actor = { kind: 'token', door: 'rest', principal: 'tok_w', level: 'write' };
const plain: ProjectWish = { sandbox: {}, limits: {}, env: {}, secrets: [] };
const code = (expected: string) => (error: Failure) => error.code === expected;

const liveSession = (project: { id: string; default_workspace_id: string }): SessionRow =>
  sessionRow({ id: 'ses_1', project_id: project.id, workspace_id: project.default_workspace_id });

describe('projects', () => {
  test('have a default workspace with a folder of their own', async () => {
    const project = await room.create(writer, 'one', plain);
    const [space] = await room.workspaces(writer, project.id);
    assert.equal(space!.id, project.default_workspace_id);
    assert.ok((await stat(room.folderOf(space!))).isDirectory());
    assert.deepEqual(project.limits, { depth: 3, agents: 50, cost_usd: 10 });
    assert.deepEqual(project.bundles, ['ot', 'text', 'data', 'clock', 'calc', 'demo']);
  });

  test('have unique names, also when two are made at once, and a loser leaves no folder', async () => {
    const tries = await Promise.allSettled([1, 2, 3].map(() => room.create(writer, 'same', plain)));
    assert.equal(tries.filter((each) => each.status === 'fulfilled').length, 1);
    assert.ok(tries.every((each) => each.status === 'fulfilled' || each.reason.code === 'project.exists'));
    assert.equal((await readdir(join(folder, 'projects'))).length, 1);
  });

  test('with secrets, egress or an image need an admin', async () => {
    for (const wish of [
      { ...plain, secrets: ['KEY'] },
      { ...plain, sandbox: { egress: ['example.org'] } },
      { ...plain, sandbox: { image: 'x' } },
    ]) {
      await assert.rejects(room.create(writer, 'p', wish), code('scope.denied'));
      await room.delete(admin, (await room.create(admin, 'p', wish)).id);
    }
  });

  test('list only hosts that can be reached', async () => {
    for (const host of ['http://example.org', 'example.org/path', 'a b'])
      await assert.rejects(room.create(admin, 'p', { ...plain, sandbox: { egress: [host] } }), /egress cannot hold/);
    const egress = ['example.org:443', '*.example.org', '10.0.0.0/8', '127.0.0.1:8080', 'localhost'];
    assert.deepEqual((await room.create(admin, 'p', { ...plain, sandbox: { egress } })).egress, egress);
  });

  test('with a weaker sandbox than all others need an admin', async () => {
    const weaker = { ...plain, sandbox: { level: 'basic' } } as const;
    await room.delete(writer, (await room.create(writer, 'p', weaker)).id);
    await writeFile(join(folder, 'config.yaml'), 'sandbox: { level: strict }\n');
    await config.reload();
    await assert.rejects(room.create(writer, 'p', weaker), code('scope.denied'));
    await room.delete(writer, (await room.create(writer, 'p', { ...plain, sandbox: { level: 'strict' } })).id);
    await room.create(admin, 'p', weaker);
  });

  test("set no variable that is the server's own, and grant no bundle that the token does not reach", async () => {
    await assert.rejects(
      room.create(admin, 'p', { ...plain, env: { OUBLIETTE_API_KEY: 'x' } }),
      /env cannot set OUBLIETTE_API_KEY/,
    );
    const narrowed: Actor = { ...writer, bundles: ['demo'] };
    await assert.rejects(room.create(narrowed, 'p', { ...plain, bundles: ['demo', 'fs'] }), code('scope.denied'));
    assert.deepEqual((await room.create(narrowed, 'p', { ...plain, bundles: ['demo'] })).bundles, ['demo']);
  });

  test('are unknown outside the reach of a token, and known to whoever made them', async () => {
    const project = await room.create(admin, 'hidden', plain);
    const narrowed: Actor = { ...writer, projects: ['proj_other'] };
    await assert.rejects(room.get(narrowed, project.id), code('project.not_found'));
    await assert.rejects(room.workspace(narrowed, project.default_workspace_id), code('workspace.not_found'));
    assert.deepEqual(await room.list(narrowed), []);
    const own = await room.create(narrowed, 'mine', plain);
    assert.equal((await room.get(narrowed, own.id)).id, own.id);
  });

  test('made by a session never have more than its own project', async () => {
    const own = await room.create(admin, 'own', {
      ...plain,
      limits: { depth: 1, agents: 5, cost_usd: 1 },
      bundles: ['ot', 'fs'],
      secrets: ['KEY'],
      sandbox: { egress: ['example.org'], image: 'mine', level: 'strict' },
    });
    const session: Actor = {
      ...admin,
      principal: 'session:ses_1',
      sessionId: 'ses_1',
      projectId: own.id,
      projects: [own.id],
    };
    const wider: [string, Partial<ProjectWish>][] = [
      ['depth', { limits: { depth: 2 } }],
      ['agents', { limits: { agents: 6 } }],
      ['cost_usd', { limits: { cost_usd: 2 } }],
      ['bundles', { bundles: ['ot', 'text'] }],
      ['secrets', { secrets: ['KEY', 'OTHER'] }],
      ['egress', { sandbox: { egress: ['example.org', 'example.com'] } }],
      ['images', { sandbox: { image: 'another' } }],
      ['freedom', { sandbox: { level: 'basic' } }],
    ];
    for (const [what, wish] of wider)
      await assert.rejects(
        room.create(session, 'a', { ...plain, ...wish }),
        (error: Failure) => error.code === 'scope.denied' && error.message.includes(`more ${what} than its own`),
        what,
      );
    const made = await room.create(session, 'a', plain);
    assert.deepEqual(made.limits, own.limits);
    assert.deepEqual(made.bundles, own.bundles);
    assert.equal(made.wish.sandbox.level, 'strict');
    const same = await room.create(session, 'b', {
      ...plain,
      limits: { depth: 1 },
      bundles: ['fs'],
      secrets: ['KEY'],
      sandbox: { egress: ['example.org'], image: 'mine' },
    });
    assert.deepEqual([same.limits, same.bundles], [own.limits, ['fs']]);
  });

  test('refuse a bundle or agent that does not exist', async () => {
    await assert.rejects(room.create(writer, 'p', { ...plain, bundles: ['nope'] }), code('request.invalid'));
    await assert.rejects(room.create(writer, 'p', { ...plain, agent: 'nope' }), code('request.invalid'));
  });

  test('are deleted whole, and not at all while a session is live', async () => {
    const project = await room.create(writer, 'p', plain);
    await db.write(() => sessions.insert(liveSession(project)));
    await assert.rejects(room.delete(writer, project.id), code('project.busy'));
    assert.ok(await room.get(writer, project.id));
    await db.write(() => sessions.update('ses_1', { status: 'ended' }));
    await room.delete(writer, project.id);
    await assert.rejects(room.get(writer, project.id), code('project.not_found'));
    assert.deepEqual(await readdir(join(folder, 'projects')), []);
    assert.equal(await sessions.get('ses_1'), undefined);
    assert.ok(await room.create(writer, 'p', plain));
  });

  test('stay whole when something that runs for them cannot be stopped', async () => {
    const project = await room.create(writer, 'p', plain);
    let isBroken = true;
    room.onDelete(async () => {
      if (isBroken) throw new Error('engine gone');
    });
    await assert.rejects(room.delete(writer, project.id), /engine gone/);
    assert.equal((await room.get(writer, project.id)).id, project.id);
    isBroken = false;
    await room.delete(writer, project.id);
  });

  test('are deleted whatever an agent made in them, and so is what an earlier server could not remove', async () => {
    const name = 'n'.repeat(60);
    const dig = `for (let i = 0; i < 150; i++) { require('fs').mkdirSync('${name}'); process.chdir('${name}'); }`;
    const { id, default_workspace_id } = await room.create(admin, 'deep', plain);
    execFileSync(process.execPath, ['-e', dig], { cwd: room.folderOf({ id: default_workspace_id, project_id: id }) });
    await room.delete(admin, id);
    assert.deepEqual(await readdir(join(folder, 'projects')), []);
    await mkdir(join(folder, 'projects', '.deleted-proj_old'));
    execFileSync(process.execPath, ['-e', dig], { cwd: join(folder, 'projects', '.deleted-proj_old') });
    await room.tidy();
    assert.deepEqual(await readdir(join(folder, 'projects')), []);
  });

  test('half deleted by a crash are gone after the next start', async () => {
    const project = await room.create(writer, 'p', plain);
    await db.write(() => db.run("UPDATE projects SET status = 'deleting'"));
    await mkdir(join(folder, 'projects', '.deleted-proj_x'));
    await room.tidy();
    await assert.rejects(room.get(writer, project.id), code('project.not_found'));
    assert.deepEqual(await readdir(join(folder, 'projects')), []);
  });
});

describe('workspaces', () => {
  test('are found again by their external id and source', async () => {
    const project = await room.create(writer, 'p', plain);
    const made = await Promise.all(
      [1, 2].map(() => room.createWorkspace(writer, project.id, { external_id: 'T7', source: 'chat' })),
    );
    assert.equal(made[0]!.id, made[1]!.id);
    assert.notEqual(
      (await room.createWorkspace(writer, project.id, { external_id: 'T7', source: 'mail' })).id,
      made[0]!.id,
    );
    assert.equal((await readdir(join(folder, 'projects', project.id, 'workspaces'))).length, 3);
  });

  test('go with their files, but not the default one and not under a live session', async () => {
    const project = await room.create(writer, 'p', plain);
    await assert.rejects(room.deleteWorkspace(writer, project.default_workspace_id), code('workspace.default'));
    const space = await room.createWorkspace(writer, project.id, {});
    await writeFile(join(room.folderOf(space), 'x'), 'x');
    await db.write(() => sessions.insert({ ...liveSession(project), workspace_id: space.id }));
    await assert.rejects(room.deleteWorkspace(writer, space.id), code('workspace.busy'));
    await db.write(() => sessions.update('ses_1', { status: 'failed' }));
    await room.deleteWorkspace(writer, space.id);
    await assert.rejects(stat(room.folderOf(space)));
  });
});
