import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { createParser } from 'eventsource-parser';
import { engineDriver } from '../src/sandbox/index.ts';
import { canRun, startEngine } from '../test/kit/engines.ts';
import { startTestServer, type TestServer } from '../test/kit/running-server.ts';
import { interleave, type Row } from './measure.ts';

export const about =
  'message to first agent output: embedded agent, cold and warm, against a cold docker run of the same image';

const rounds = 5;
const run = promisify(execFile);

export async function bench(): Promise<Row[]> {
  if (!(await canRun('docker'))) throw new Error('needs root and the Debian package docker.io');
  const engine = await startEngine('docker');
  const server = await startTestServer({
    args: ['--log', 'warn'],
    env: { DOCKER_HOST: `unix://${engine.socket}`, CONTAINER_HOST: 'unix:///nowhere' },
  });
  try {
    const base = engineDriver({ name: 'docker', sockets: [engine.socket], folder: server.home });
    const { image } = await base.buildBase();
    await base.close();
    const dockerRun = async (): Promise<number> => {
      const started = performance.now();
      const flags = ['--rm', '--network', 'none', '--entrypoint', '/usr/bin/node', image, '-e', 'console.log(6)'];
      await run('docker', ['-H', `unix://${engine.socket}`, 'run', ...flags]);
      return performance.now() - started;
    };
    const rows: Row[] = [];
    for (const driver of ['bubblewrap', 'docker']) {
      const project = await call(server, 'project_create', { name: `bench-${driver}`, sandbox: { driver } });
      const spawn = (grant: boolean) => () => firstOutput(server, project.id, grant);
      // Not in the pool: a workspace of its own.
      const cold = async (): Promise<number> => {
        const workspace = await call(server, 'workspace_create', { project_id: project.id });
        return firstOutput(server, project.id, false, workspace.id);
      };
      await cold();
      const sides = await interleave(rounds, {
        cold,
        other: dockerRun,
        warm: warmed(spawn(false)),
        granted: warmed(spawn(true)),
      });
      const against = { unit: 'ms', other: sides.other, otherName: 'docker run' };
      rows.push(
        { what: `${driver}, cold`, ours: sides.cold, ...against },
        { what: `${driver}, warm`, ours: sides.warm, ...against, goal: { of: 'ratio', atMost: 0.2 } },
        { what: `${driver}, warm with a grant`, ours: sides.granted, ...against, goal: { of: 'ratio', atMost: 0.6 } },
      );
    }
    return rows;
  } finally {
    await server.stop();
    await engine.stop();
  }
}

/** Uses one slot to make the pool fill another, gives that the time of several cold starts, then measures. */
function warmed(spawn: () => Promise<number>): () => Promise<number> {
  return async () => {
    const before = await spawn();
    await new Promise((resolve) => setTimeout(resolve, Math.max(2000, 4 * before)));
    return spawn();
  };
}

async function call(server: TestServer, name: string, args: object): Promise<any> {
  const answer = (await (await server.fetch(`/call/${name}`, { method: 'POST', json: { args } })).json()) as any;
  if (!answer.ok) throw new Error(`${name}: ${JSON.stringify(answer)}`);
  return answer.value;
}

async function firstOutput(
  server: TestServer,
  project_id: string,
  isGranted: boolean,
  workspace_id?: string,
): Promise<number> {
  const started = performance.now();
  const grant = isGranted ? { grant: { scope: 'read' } } : {};
  const { session_id } = await call(server, 'session_spawn', {
    project_id,
    message: '2 * 3',
    ...grant,
    ...(workspace_id && { workspace_id }),
  });
  const response = await server.fetch(`/sessions/${session_id}/events`, { headers: { accept: 'text/event-stream' } });
  const seen = Promise.withResolvers<number>();
  const parser = createParser({
    onEvent(event) {
      const data = JSON.parse(event.data);
      if (event.event === 'message' && data.role === 'agent') seen.resolve(performance.now() - started);
      if (event.event === 'error' || (event.event === 'status' && data.status === 'failed'))
        seen.reject(new Error(event.data));
    },
  });
  const reader = response.body!.getReader();
  void (async () => {
    for (let part = await reader.read(); !part.done; part = await reader.read())
      parser.feed(Buffer.from(part.value).toString());
  })().catch(() => {});
  const taken = await seen.promise;
  await reader.cancel();
  await call(server, 'session_end', { session_id });
  return taken;
}
