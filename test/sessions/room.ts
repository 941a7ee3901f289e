// The rooms that make sessions, on a home of their own, without any door.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { acpDriver } from '../../src/agents/index.ts';
import { tokens, type Tokens } from '../../src/auth/index.ts';
import { openConfig } from '../../src/config/index.ts';
import { asks, eventLog, presence, type Asks, type EventLog } from '../../src/log/index.ts';
import { projects, type Project, type Projects } from '../../src/projects/index.ts';
import { fail, type Actor, type Failure, type SessionEvent, type Settings } from '../../src/schema/index.ts';
import { nodeIdentity, sessions, type BoxDoor, type SessionPorts, type Sessions } from '../../src/sessions/index.ts';
import {
  Database,
  openAsks,
  openBlobs,
  openEvents,
  openHome,
  openProjects,
  openSessions,
  openUtilityBoxes,
  sqliteTokens,
  type Blobs,
} from '../../src/store/index.ts';
import { plainDriver, type PlainDriver } from './plain-driver.ts';

const agentProgram = join(import.meta.dirname, 'tiny-agent.ts');
const quiet = { debug() {}, info() {}, warn() {}, error() {} };
export const loud = { debug: console.debug, info: console.info, warn: console.warn, error: console.error };

export interface Room {
  home: string;
  sessions: Sessions;
  ports: SessionPorts;
  projects: Projects;
  log: EventLog;
  asks: Asks;
  tokens: Tokens;
  blobs: Blobs;
  driver: PlainDriver;
  project: Project;
  /** Stops the server but not its sandboxes; `again` starts another one on the same home. */
  again(how?: 'stop' | 'crash'): Promise<Room>;
  /** Another server on the same home, at the same time. */
  beside(): Promise<Room>;
  /** Closes this server alone. */
  leave(): Promise<void>;
  close(): Promise<void>;
  events(sessionId: string): Promise<SessionEvent[]>;
  /** The event, once it is there. */
  until(sessionId: string, fits: (event: SessionEvent) => boolean): Promise<SessionEvent>;
}

export const owner: Actor = { kind: 'token', door: 'rest', principal: 'prn_owner', level: 'write' };
export const other: Actor = { kind: 'token', door: 'rest', principal: 'prn_other', level: 'write' };
export const admin: Actor = { kind: 'local', door: 'rest', principal: 'local', level: 'admin' };

export interface RoomOptions {
  limits?: Partial<Settings['limits']>;
  providers?: Settings['providers'];
  doors?: (sessions: Sessions) => BoxDoor[];
}

export async function openRoom(options: RoomOptions = {}): Promise<Room> {
  const home = await mkdtemp(join(tmpdir(), 'oub-ses-'));
  return build(home, plainDriver(), options);
}

async function build(homePath: string, driver: PlainDriver, options: RoomOptions, known?: Project): Promise<Room> {
  const home = await openHome(homePath);
  const db = new Database(home.stateDb);
  const config = await openConfig(home);
  const settings = (): Settings => ({
    ...config.current(),
    limits: { ...config.current().limits, ...options.limits },
    providers: options.providers ?? {},
  });
  const tables = await openSessions(db);
  const projectTables = await openProjects(db);
  const log = eventLog({ db, events: await openEvents(db, home.projects), pollMs: 50 });
  const questions = asks({ log, tables: await openAsks(db), presence: presence(), reconnectGraceMs: () => 100 });
  const room = projects({
    db,
    tables: projectTables,
    sessions: tables,
    forgetSession: () => {},
    folder: home.projects,
    settings,
    sandboxes: { choose: async () => ({ driver, probe: await driver.probe() }) },
    knownBundles: () => ['ot'],
    fetch: async () => {
      throw new Error('nothing is fetched here');
    },
  });
  const auth = tokens(await sqliteTokens(db));
  const blobs = await openBlobs(db, home.blobs);
  const doors: BoxDoor[] = [];
  const ports: SessionPorts = {
    log,
    asks: questions,
    tables,
    projectTables,
    utilityTables: await openUtilityBoxes(db),
    projects: room,
    drivers: [driver],
    tokens: auth,
    blobs,
    settings,
    secret: async (name) => {
      if (name !== 'KNOWN') throw fail('secret.missing', { name });
      return 'secret-value';
    },
    fill: async (text) => text,
    agent: (name) => {
      if (name !== 'embedded') throw fail('agent.unavailable', { agent: name, reason: 'it is not configured' });
      return {
        driver: acpDriver,
        config: { driver: 'acp' },
        command: { command: [process.execPath, agentProgram], cwd: tmpdir(), env: {} },
      };
    },
    doors,
    runFolder: home.run,
    logger: process.env['LOUD'] ? loud : quiet,
    node: nodeIdentity(),
  };
  const all = sessions(ports);
  doors.push(...(options.doors?.(all) ?? []));
  await room.tidy();
  await all.start();
  const project = known ?? (await room.create(owner, 'test', { sandbox: {}, limits: {}, env: {}, secrets: [] }));
  const closeAll = async (): Promise<void> => {
    questions.close();
    log.close();
    config.close();
    await db.close();
  };
  const events = (sessionId: string): Promise<SessionEvent[]> => log.read(sessionId, -1, 100_000);
  return {
    home: homePath,
    sessions: all,
    ports,
    projects: room,
    log,
    asks: questions,
    tokens: auth,
    blobs,
    driver,
    project,
    events,
    async again(how = 'stop') {
      await all.stop();
      if (how === 'crash') ports.node = '';
      await db.write(() => db.run("UPDATE sessions SET node = '1.1.dead' WHERE node IS NOT NULL"));
      await closeAll();
      return build(homePath, driver, options, project);
    },
    beside: () => build(homePath, driver, options, project),
    async leave() {
      await all.stop();
      await closeAll();
    },
    async close() {
      for (const row of await tables.list({ isLive: true })) await all.end(admin, row.id);
      await all.stop();
      await driver.close();
      await closeAll();
      await rm(homePath, { recursive: true });
    },
    async until(sessionId, fits) {
      const stop = AbortSignal.timeout(120_000);
      for await (const item of log.follow(sessionId, { signal: stop }))
        if (item.kind === 'events')
          for (const stored of item.events) {
            const event = JSON.parse(stored.json) as SessionEvent;
            if (fits(event)) return event;
          }
      throw new Error(`never came; there is: ${JSON.stringify(await events(sessionId), null, 1)}`);
    },
  };
}

/** For assert: the failure has this code. */
export const code =
  (expected: string) =>
  (error: Failure): boolean =>
    error.code === expected;

export const completion =
  (turn: number) =>
  (event: SessionEvent): boolean =>
    event.type === 'completion' && event.turn === turn;

/** What the agent said in a turn, once that is over. */
export async function answerOf(room: Room, sessionId: string, turn: number): Promise<string> {
  const event = await room.until(sessionId, completion(turn));
  return event.type === 'completion' ? event.text : '';
}

export const status =
  (wanted: string) =>
  (event: SessionEvent): boolean =>
    event.type === 'status' && event.status === wanted;
export const isGapless = (events: SessionEvent[]): boolean => events.every((event, index) => event.index === index);
