import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { fail } from '../schema/index.ts';
import { homePaths } from './home.ts';
import { isBusy } from './lock.ts';
import { isBrokenDatabase, type Database } from './sqlite.ts';

/** Raised by one with every change that an older program could not work with: a step of a table, files of another form. */
export const homeFormat = 1;

/** The form of a home, and the version of the program that brought it there. */
interface HomeVersion {
  format: number;
  program: string;
}

const patienceMs = 20_000;

/** Throws home.unusable when a newer program has changed the home; looks only, and may be asked of any folder. */
export function refuseNewerHome(root: string): void {
  const newer = newerVersionOf(root);
  if (newer !== undefined)
    throw fail('home.unusable', {
      home: root,
      reason: `version ${newer} wrote it, in a form that this older version does not know. ${adviceForNewer(newer)}`,
    });
}

export const adviceForNewer = (version: string): string =>
  `Use version ${version} or a later one, or put back a backup that this version made: oubliette restore FILE`;

/** The version that a program must have at least, where this one is too old. */
export function newerVersionOf(root: string): string | undefined {
  const { format, program } = versionOf(homePaths(root).stateDb);
  return format > homeFormat ? program : undefined;
}

/**
 * Returns when tables may be changed: at once, unless the home is of an older form. Then no other server may use it, for
 * an older one could not go on with what comes out; one of this version that has just begun to change it is waited for.
 */
export async function waitForOlderServers(root: string, patience = patienceMs): Promise<void> {
  const { stateDb } = homePaths(root);
  const giveUpAt = performance.now() + patience;
  while (versionOf(stateDb).format < homeFormat && isHomeInUse(root)) {
    if (performance.now() > giveUpAt)
      throw fail('server.running', {
        message: `A server of an older version runs on ${root}, and could not go on once this version has changed it. Stop it first.`,
      });
    await sleep(50 + Math.random() * 100);
  }
}

/** Writes down that the home is of our form; for whoever has brought all its tables there. */
export async function markHome(db: Database, program: string): Promise<void> {
  const marked = db.get("SELECT 1 FROM sqlite_schema WHERE name = 'home_version'");
  if (marked && db.get('SELECT 1 FROM home_version WHERE format >= ?', homeFormat)) return;
  await db.write((tx) => {
    tx.run(
      'CREATE TABLE IF NOT EXISTS home_version (one INTEGER PRIMARY KEY CHECK (one = 1), format INTEGER NOT NULL, program TEXT NOT NULL)',
    );
    tx.run('INSERT OR REPLACE INTO home_version VALUES (1, ?, ?)', homeFormat, program);
  });
}

/**
 * True while any process has the database open, of whatever version: whoever works with a journal of its own kind keeps
 * a lock on the file, and SQLite lets nobody leave that kind meanwhile. The lock goes with its process.
 */
export function isHomeInUse(root: string): boolean {
  const { stateDb } = homePaths(root);
  if (!existsSync(stateDb)) return false;
  // Whoever only looks is gone soon.
  const db = new DatabaseSync(stateDb, { timeout: 1000 });
  try {
    db.exec('PRAGMA journal_mode = DELETE');
    return false;
  } catch (error) {
    if (isBusy(error)) return true;
    if (isBrokenDatabase(error)) return false;
    throw error;
  } finally {
    db.close();
  }
}

/** Homes from before there were marks, new ones, and those that cannot be read are of format 0: others will say why. */
function versionOf(stateDb: string): HomeVersion {
  const none = { format: 0, program: '' };
  if (!existsSync(stateDb)) return none;
  try {
    const db = new DatabaseSync(stateDb, { readOnly: true, timeout: 1000 });
    try {
      if (!db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'home_version'").get()) return none;
      return (db.prepare('SELECT format, program FROM home_version').get() as HomeVersion | undefined) ?? none;
    } finally {
      db.close();
    }
  } catch {
    return none;
  }
}
