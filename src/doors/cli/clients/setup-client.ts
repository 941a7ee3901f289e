import { createHash, randomUUID } from 'node:crypto';
import { chmod, copyFile, mkdir, readFile, readlink, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createTwoFilesPatch } from 'diff';
import { CommandFailure } from '../failure.ts';
import { withServer } from './client-file.ts';
import type { KnownClient, Place, Target } from './known-clients.ts';

/** The name under which a client knows us. */
export const ourName = 'oubliette';

/** What was done, so that it can be undone. */
interface Done {
  file: string;
  backup?: string;
  tokenId: string;
  /** Fingerprint of the file as we left it. */
  after: string;
  /** Fingerprint of the backup: the setup of another home puts its own there. */
  before?: string;
}

export interface SetupPlan {
  file: string;
  before: string | undefined;
  after: string;
  diff: string;
}

/** What would be written; the token is not shown. */
export async function planSetup(client: KnownClient, place: Place, target: Target): Promise<SetupPlan> {
  const file = client.file(place);
  const before = await textOf(file);
  const after = withServer(client, before ?? '', file, ourName, client.entry(target));
  const hidden = (text: string): string => text.replace(/oub_[A-Za-z0-9_-]+/g, 'oub_...');
  return {
    file,
    before,
    after,
    diff: createTwoFilesPatch(file, file, hidden(before ?? ''), hidden(after), '', '', { context: 2 }),
  };
}

/** Writes it, keeping what was there before the first setup beside it. */
export async function applySetup(client: KnownClient, plan: SetupPlan, home: string, tokenId: string): Promise<Done> {
  const { file, before, after } = plan;
  const earlier = await earlierSetup(client, home);
  const wasOurs = earlier !== undefined && before !== undefined && fingerprint(before) === earlier.after;
  const newBackup = before === undefined ? undefined : `${file}.oubliette-backup`;
  const backup = wasOurs ? earlier.backup : newBackup;
  const record = recordOf(home, client);
  try {
    await mkdir(dirname(file), { recursive: true });
    if (backup && !wasOurs) {
      await copyFile(file, backup);
      // Changed by hand since: our old entry is nothing to go back to.
      if (earlier) await writeFile(backup, withServer(client, before!, file, ourName, undefined));
    }
    const mode = (await stat(file).catch(() => undefined))?.mode;
    // It holds a token now: nobody else may read it.
    await replace(file, after, mode === undefined ? 0o600 : mode & 0o700);
    const kept = backup && fingerprint(await readFile(backup, 'utf8'));
    const done: Done = { file, ...(backup && { backup, before: kept }), tokenId, after: fingerprint(after) };
    await mkdir(dirname(record), { recursive: true, mode: 0o700 });
    await replace(record, JSON.stringify(done), 0o600);
    return done;
  } catch (error) {
    throw cannot('written', file, error);
  }
}

/** The token of an earlier setup, if there was one. */
export async function earlierSetup(client: KnownClient, home: string): Promise<Done | undefined> {
  try {
    return JSON.parse(await readFile(recordOf(home, client), 'utf8')) as Done;
  } catch {
    return undefined;
  }
}

/** Puts the file back as it was; if someone changed it since, only our entry is taken out. */
export async function undoSetup(client: KnownClient, home: string): Promise<Done> {
  const done = await earlierSetup(client, home);
  if (!done) throw new CommandFailure('request.invalid', `${client.name} was not set up from this home.`);
  const { file, backup } = done;
  const now = await textOf(file);
  const isUntouched = now !== undefined && fingerprint(now) === done.after;
  try {
    const kept = isUntouched && backup ? await readFile(backup, 'utf8') : undefined;
    const isOurs = kept !== undefined && (done.before === undefined || fingerprint(kept) === done.before);
    if (isOurs) await replace(file, kept, (await stat(backup!)).mode & 0o777);
    else if (isUntouched && !backup) await rm(file);
    else if (now !== undefined)
      await replace(file, withServer(client, now, file, ourName, undefined), (await stat(file)).mode & 0o777);
    await rm(recordOf(home, client), { force: true });
  } catch (error) {
    throw cannot('written', file, error);
  }
  return done;
}

const recordOf = (home: string, client: KnownClient): string => join(home, 'run', 'setup', `${client.name}.json`);
const fingerprint = (text: string): string => createHash('sha256').update(text).digest('hex');

/** The text of a file, undefined when there is none. What cannot be read could not be put back either. */
async function textOf(file: string): Promise<string | undefined> {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await readFile(file));
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    // A link that leads nowhere, perhaps to a disk that is away, must not become a file.
    if (isMissing && !(await readlink(file).catch(() => undefined))) return undefined;
    throw cannot('read', file, error);
  }
}

function cannot(what: 'read' | 'written', file: string, error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof CommandFailure || code === undefined) return error;
  return new CommandFailure('config.invalid', `${file} cannot be ${what} (${code}). It was left as it is.`);
}

async function replace(file: string, text: string, mode: number): Promise<void> {
  // Settings are often links into a folder of their own, which stay links.
  const target = await realpath(file).catch(() => file);
  const temp = `${target}.${randomUUID()}.tmp`;
  try {
    await writeFile(temp, text, { mode: 0o600, flush: true });
    await chmod(temp, mode);
    await rename(temp, target);
  } catch (error) {
    await rm(temp, { force: true });
    throw error;
  }
}
