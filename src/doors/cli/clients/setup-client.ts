import { createHash } from 'node:crypto';
import { chmod, copyFile, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
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
  const before = await readFile(file, 'utf8').catch(() => undefined);
  const after = withServer(client, before ?? '', file, ourName, client.entry(target));
  const hidden = (text: string): string => text.replace(/oub_[A-Za-z0-9_-]+/g, 'oub_...');
  return {
    file,
    before,
    after,
    diff: createTwoFilesPatch(file, file, hidden(before ?? ''), hidden(after), '', '', { context: 2 }),
  };
}

/** Writes it, keeping what was there beside it. */
export async function applySetup(client: KnownClient, plan: SetupPlan, home: string, tokenId: string): Promise<Done> {
  const { file, before, after } = plan;
  await mkdir(dirname(file), { recursive: true });
  const backup = before === undefined ? undefined : `${file}.oubliette-backup`;
  if (backup) await copyFile(file, backup);
  await replace(file, after);
  const done: Done = { file, ...(backup && { backup }), tokenId, after: fingerprint(after) };
  await mkdir(dirname(recordOf(home, client)), { recursive: true, mode: 0o700 });
  await writeFile(recordOf(home, client), JSON.stringify(done), { mode: 0o600 });
  return done;
}

/** The token of an earlier setup, if there was one. */
export async function earlierSetup(client: KnownClient, home: string): Promise<Done | undefined> {
  const text = await readFile(recordOf(home, client), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as Done);
}

/** Puts the file back as it was; if someone changed it since, only our entry is taken out. */
export async function undoSetup(client: KnownClient, home: string): Promise<Done> {
  const done = await earlierSetup(client, home);
  if (!done) throw new CommandFailure('request.invalid', `${client.name} was not set up from this home.`);
  const now = await readFile(done.file, 'utf8').catch(() => undefined);
  const isUntouched = now !== undefined && fingerprint(now) === done.after;
  if (isUntouched && done.backup) await replace(done.file, await readFile(done.backup, 'utf8'));
  else if (isUntouched) await rm(done.file);
  else if (now !== undefined) await replace(done.file, withServer(client, now, done.file, ourName, undefined));
  await rm(recordOf(home, client), { force: true });
  return done;
}

const recordOf = (home: string, client: KnownClient): string => join(home, 'run', 'setup', `${client.name}.json`);
const fingerprint = (text: string): string => createHash('sha256').update(text).digest('hex');

async function replace(file: string, text: string): Promise<void> {
  const mode = (await stat(file).catch(() => undefined))?.mode;
  const temp = `${file}.oubliette.tmp`;
  // It holds a token now: nobody else may read it.
  await writeFile(temp, text, { mode: 0o600 });
  if (mode !== undefined) await chmod(temp, mode & 0o700);
  await rename(temp, file);
}
