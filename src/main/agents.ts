import { join } from 'node:path';
import { egressDoor, modelDoor } from '../doors/model/index.ts';
import { BodyRoom } from '../doors/rest/index.ts';
import { asks, eventLog, presence } from '../log/index.ts';
import { projects } from '../projects/index.ts';
import { openSandboxes } from '../sandbox/index.ts';
import { fail } from '../schema/index.ts';
import { knownAgent, nodeIdentity, sessions, type BoxDoor, type SessionPorts } from '../sessions/index.ts';
import { hostRules } from '../sources/http/index.ts';
import { openAsks, openEvents, openProjects, openSessions, openUtilityBoxes } from '../store/index.ts';
import type { Closers } from './closers.ts';
import type { Ground, ServerOptions } from './ground.ts';

/** For what is on its way in, by whichever door; a ZIP file of bundles may take half of it. */
const roomForBodies = 128 * 2 ** 20;

export type Agents = Awaited<ReturnType<typeof openAgents>>;

/** Where agents work: sandboxes, projects, the log of what happened, sessions. */
export async function openAgents(
  { home, db, settings, observe, auth, blobs, secrets, hide, net }: Ground,
  knownBundles: () => string[],
  options: ServerOptions,
  closers: Closers,
) {
  const sandboxes = openSandboxes({
    folder: join(home.run, 'sandbox'),
    ...(options.engines && { sockets: options.engines }),
  });
  closers.push(() => sandboxes.close());
  const sessionTables = await openSessions(db);
  const projectTables = await openProjects(db);
  const askTables = await openAsks(db);
  const eventTables = await openEvents(db, home.projects);
  const log = eventLog({
    db,
    events: eventTables,
    redact: (value) => hide.value(value),
    redactPieces: () => hide.items(),
  });
  closers.push(() => log.close());
  const present = presence();
  const questions = asks({
    log,
    tables: askTables,
    presence: present,
    reconnectGraceMs: () => settings().limits.reconnectGraceMs,
  });
  const places = projects({
    db,
    tables: projectTables,
    sessions: sessionTables,
    forgetSession: (_, sessionId) => {
      // The files of its log go with the folder of the project.
      eventTables.remove(sessionId);
      askTables.remove(sessionId);
    },
    folder: home.projects,
    settings,
    sandboxes,
    knownBundles,
    fetch: async (url, init, egress) => {
      const demandListed = ({ hostname, port, protocol }: URL): void => {
        const wanted = Number(port) || (protocol === 'https:' ? 443 : 80);
        if (!hostRules(egress).mayAsk(hostname, wanted))
          throw fail('host.not_allowed', {
            message: `${hostname}:${wanted} is not in the egress list of this project. A project gets it when it is made: oubliette project create NAME --egress ${hostname}`,
          });
      };
      // Before the list of the server is asked: what it allows makes no difference here.
      if (URL.canParse(url)) demandListed(new URL(url));
      return net.fetch(url, init, { allow: egress, onHop: demandListed });
    },
  });
  const boxDoors: BoxDoor[] = [];
  const sessionPorts: SessionPorts = {
    log,
    asks: questions,
    tables: sessionTables,
    projectTables,
    utilityTables: await openUtilityBoxes(db),
    projects: places,
    drivers: sandboxes.drivers,
    tokens: auth,
    blobs,
    settings,
    secret: async (name) => (await secrets.get(name)).value,
    fill: (text) => secrets.fill(text),
    agent: (name) => knownAgent(settings(), name),
    doors: boxDoors,
    runFolder: home.run,
    logger: observe.log,
    node: nodeIdentity(),
  };
  const agentSessions = sessions(sessionPorts);
  const room = new BodyRoom(roomForBodies);
  boxDoors.push(
    modelDoor({
      sessions: agentSessions,
      secret: sessionPorts.secret,
      dialler: net,
      readBody: (request, limit) => room.read(request, limit),
      log: observe.log,
    }),
    egressDoor({ egressOf: async (projectId) => (await places.load(projectId))?.egress ?? [], log: observe.log }),
  );
  return { sandboxes, sessionTables, log, present, questions, places, boxDoors, sessionPorts, agentSessions, room };
}
