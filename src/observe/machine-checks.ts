import { access, constants, readFile, stat, statfs } from 'node:fs/promises';
import { freemem } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { adviceForNewer, isBrokenDatabase, newerVersionOf } from '../store/index.ts';
import type { Check, Finding } from './doctor.ts';

const gigabyte = 2 ** 30;

/** What can be said about the machine and the data folder without any server. */
export function machineChecks(home: string): Check[] {
  return [
    { name: 'node', look: async () => nodeFinding() },
    { name: 'user', look: async () => userFinding() },
    { name: 'home', look: () => homeFindings(home) },
    { name: 'disk', look: () => diskFinding(home) },
    { name: 'memory', look: async () => memoryFinding() },
    { name: 'state', look: async () => stateFinding(home) },
    { name: 'server', look: () => serverFinding(home) },
  ];
}

function nodeFinding(): Finding {
  const isRight = Number(process.versions.node.split('.')[0]) >= 26;
  return isRight
    ? { status: 'ok', text: process.version }
    : {
        status: 'fail',
        text: `Node ${process.version} is too old`,
        advice: 'Start oubliette by its own launcher, which brings Node 26.',
      };
}

function userFinding(): Finding {
  return process.getuid?.() === 0
    ? {
        status: 'warn',
        text: 'runs as root',
        advice:
          'Use a user of its own: MCP servers run with the rights of this one, unless there is a user called oubliette.',
      }
    : { status: 'ok', text: 'not root' };
}

async function homeFindings(home: string): Promise<Finding[]> {
  const folder = await stat(home).catch(() => undefined);
  if (!folder)
    return [
      { status: 'warn', text: `${home} does not exist yet`, advice: 'The first start makes it: oubliette serve' },
    ];
  const canWrite = await access(home, constants.W_OK).then(
    () => folder.isDirectory(),
    () => false,
  );
  if (!canWrite)
    return [
      {
        status: 'fail',
        text: `${home} is no folder that can be written`,
        advice: 'Choose another one: --home or OUBLIETTE_HOME',
      },
    ];
  const findings: Finding[] = [];
  if (process.platform !== 'win32')
    for (const name of ['', 'admin.token', 'state.db', 'secret.key', 'home.key', 'packs']) {
      const path = join(home, name);
      const found = await stat(path).catch(() => undefined);
      if (found && (found.mode & 0o077) !== 0)
        findings.push({ status: 'fail', text: `others may read ${path}`, advice: `chmod go= ${path}` });
    }
  return findings.length > 0 ? findings : [{ status: 'ok', text: home }];
}

async function diskFinding(home: string): Promise<Finding> {
  const disk = await statfs(home).catch(() => statfs('/'));
  const free = disk.bavail * disk.bsize;
  const text = `${(free / gigabyte).toFixed(1)} GB free`;
  if (free > 2 * gigabyte) return { status: 'ok', text };
  return {
    status: free > 0.1 * gigabyte ? 'warn' : 'fail',
    text,
    advice: 'Make room: results, blobs and workspaces need some.',
  };
}

function memoryFinding(): Finding {
  const free = process.availableMemory?.() ?? freemem();
  const text = `${(free / gigabyte).toFixed(1)} GB free`;
  return free > gigabyte / 2
    ? { status: 'ok', text }
    : { status: 'warn', text, advice: 'Sandboxes and programs need memory of their own.' };
}

async function stateFinding(home: string): Promise<Finding> {
  const file = join(home, 'state.db');
  if (!(await stat(file).catch(() => undefined))) return { status: 'ok', text: 'no state yet' };
  const newer = newerVersionOf(home);
  if (newer !== undefined)
    return {
      status: 'fail',
      text: `version ${newer} wrote state.db, and this one is older`,
      advice: adviceForNewer(newer),
    };
  const damage = damageOf(file);
  if (damage === undefined) return { status: 'ok', text: 'state.db is sound' };
  return {
    status: 'fail',
    text: `state.db is damaged: ${damage}`,
    advice: 'Stop the server and restore a backup: oubliette restore FILE',
  };
}

/** What is wrong with a database; undefined when nothing is. */
function damageOf(file: string): string | undefined {
  try {
    const db = new DatabaseSync(file, { readOnly: true, timeout: 2000 });
    try {
      const row = db.prepare('PRAGMA quick_check(1)').get() as { quick_check: string };
      return row.quick_check === 'ok' ? undefined : row.quick_check;
    } finally {
      db.close();
    }
  } catch (error) {
    if (isBrokenDatabase(error)) return (error as Error).message;
    throw error;
  }
}

async function serverFinding(home: string): Promise<Finding> {
  const text = await readFile(join(home, 'server.json'), 'utf8').catch(() => undefined);
  if (text === undefined) return { status: 'ok', text: 'not running' };
  const info = parsedOrUndefined(text) as { url?: unknown; pid?: unknown } | null | undefined;
  const { url, pid } = info ?? {};
  if (typeof url !== 'string')
    return {
      status: 'warn',
      text: 'server.json is damaged, so no command finds a server that runs',
      advice: 'Start it again: oubliette serve',
    };
  // Sooner than the check itself is given up, so that there is time to say more.
  const patience = AbortSignal.timeout(3000);
  try {
    const response = await fetch(`${url}/ready`, { signal: patience });
    const body = (await response.json()) as { status: string; reasons?: string[] };
    return response.ok
      ? { status: 'ok', text: `ready at ${url} (pid ${String(pid)})` }
      : { status: 'warn', text: `running at ${url}, but not ready: ${(body.reasons ?? [body.status]).join(', ')}` };
  } catch {
    if (patience.aborted)
      return {
        status: 'fail',
        text: `the server at ${url} (pid ${String(pid)}) takes connections, but does not answer`,
        advice: `It hangs or is stopped. End it (kill ${String(pid)}, or kill -9) and start it again: oubliette serve`,
      };
    return {
      status: 'warn',
      text: `server.json names ${url} (pid ${String(pid)}), but nothing answers there`,
      advice: 'Start it again: oubliette serve',
    };
  }
}

function parsedOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
