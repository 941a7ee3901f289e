import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { canRun, startEngine, type TestEngine } from '../kit/engines.ts';
import { testServer, type TestServer } from '../kit/server.ts';
import { turn, value } from '../kit/session.ts';
import { connect } from '../../src/sdk.ts';

for (const driver of ['docker', 'podman', 'bubblewrap'] as const)
  describe(
    `an agent in a sandbox of ${driver}`,
    { skip: driver !== 'bubblewrap' && !(await canRun(driver)) && `${driver} cannot run here` },
    () => {
      let server: TestServer;
      let engine: TestEngine | undefined;
      before(async () => {
        engine = driver === 'bubblewrap' ? undefined : await startEngine(driver);
        server = await testServer({
          engines: { docker: [], podman: [], ...(engine && { [driver]: [engine.socket] }) },
        });
      });
      after(async () => {
        for (const { id, status } of (await value(server, 'session_list', {})).sessions)
          if (status !== 'ended') await value(server, 'session_end', { session_id: id });
        await server.remove();
        await engine?.stop();
      });

      it('creates a project through oubliette_project_create with the key it was granted', async () => {
        const project = await value(server, 'project_create', { name: 'start', sandbox: { driver } });
        assert.equal(project.sandbox.driver, driver);
        const { text, sessionId } = await turn(server, {
          project_id: project.id,
          message: 'oubliette_project_create(name="made-inside")["id"]',
          grant: { scope: 'write' },
        });
        const made = (await value(server, 'project_list', {})).projects.find(
          (each: any) => each.name === 'made-inside',
        );
        assert.equal(made.id, text);
        const stored = await value(server, 'session_events', { session_id: sessionId, max_events: 1000 });
        assert.ok(!JSON.stringify(stored).includes('oub_'), 'the key is in no event');
      });

      it('uses what its caller lends it', async () => {
        const { token } = await value(server, 'token_create', { name: 'bot', scope: 'write' });
        const oubliette = await connect({ url: server.url, token });
        const project = await oubliette.project({ name: 'lent', sandbox: { driver } });
        const session = project.session({
          callerId: 'ant',
          tools: { add: { run: ({ a, b }: { a: number; b: number }) => a + b } },
        });
        assert.equal(await session.ask('ant_add(a=2, b=3) * 10'), '50');
        await session.end();
      });
    },
  );
