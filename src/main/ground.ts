import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { ensureAdminToken, keepAdminToken, signIns, tokens } from '../auth/index.ts';
import { nearest } from '../code/index.ts';
import { openConfig } from '../config/index.ts';
import { packageRoot } from '../entry.ts';
import { openObserver } from '../observe/index.ts';
import { fail, Failure, pageTokens } from '../schema/index.ts';
import { dialler } from '../sources/http/index.ts';
import {
  Database,
  homeKeys,
  isBrokenDatabase,
  openBlobs,
  openHome,
  redactor,
  refuseNewerHome,
  sqliteSecrets,
  sqliteSignIns,
  sqliteTokens,
  waitForOlderServers,
  type Home,
} from '../store/index.ts';
import type { Closers } from './closers.ts';

export interface ServerOptions {
  home: string;
  port: number;
  host: string;
  logLevel?: string;
  packs?: boolean;
  /** Engine sockets instead of the usual places. */
  engines?: { docker?: string[]; podman?: string[] };
}

export type Ground = Awaited<ReturnType<typeof openGround>>;

export const { version } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { version: string };

/** Binary answers of tools are there for whoever asked, not for ever. What someone uploads stays. */
const answersStayMs = 30 * 24 * 3600_000;

/** What everything stands on: the home, its database, configuration, records, tokens, secrets, the way out. */
export async function openGround(options: ServerOptions, closers: Closers) {
  const { home, db } = await openPlace(options.home);
  closers.push(() => db.close());
  const keyFor = await homeKeys(home.root);
  const config = await openConfig(home, nearest);
  closers.push(() => config.close());
  const settings = () => config.current();
  const observe = await openObserver({ home, db, config, key: keyFor('audit'), level: options.logLevel });
  closers.push(() => observe.close());
  config.onReport(({ ok, errors }) => {
    if (ok) observe.log.info({ span: 'config.reload', status: 'ok' }, 'the configuration is in order again');
    else
      observe.log.error(
        { span: 'config.reload', status: 'error', errors },
        `the old settings keep serving: ${errors.join('; ')}`,
      );
  });

  const tokenStore = await sqliteTokens(db);
  const adminToken = await ensureAdminToken(home.adminToken, tokenStore);
  const auth = keepAdminToken(tokens(tokenStore), home.adminToken, tokenStore);
  const browsers = signIns(await sqliteSignIns(db), auth);

  const secrets = await sqliteSecrets(db, join(home.root, 'secret.key'));
  const hide = redactor(secrets);
  observe.setRedactor((line) => hide.text(line));
  const blobs = await openBlobs(db, home.blobs);
  closers.push(() => blobs.close());
  const keepBlob = async (
    owner: string,
    bytes: Uint8Array,
    mime: string,
  ): Promise<{ blob_id: string; size: number }> => {
    const clean = hide.bytes(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    const { id, size } = await blobs.put(owner, Readable.from([clean]), {
      maxBytes: clean.length,
      mime,
      keepForMs: answersStayMs,
    });
    return { blob_id: id, size };
  };
  const net = dialler({ settings });
  closers.push(() => net.close());
  return {
    home,
    db,
    keyFor,
    pages: pageTokens(keyFor('page tokens')),
    config,
    settings,
    observe,
    adminToken,
    auth,
    browsers,
    secrets,
    hide,
    blobs,
    keepBlob,
    net,
  };
}

/** The folder and its database; fails with home.unusable, and says what to do. */
async function openPlace(root: string): Promise<{ home: Home; db: Database }> {
  try {
    refuseNewerHome(root);
    await waitForOlderServers(root);
    const home = await openHome(root);
    return { home, db: new Database(home.stateDb, { isMarked: true }) };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const isDamaged = isBrokenDatabase(error);
    if (error instanceof Failure) throw error;
    if (code === undefined || (code.startsWith('ERR_') && !isDamaged)) throw error;
    const advice = isDamaged
      ? 'Put a backup back with: oubliette restore. Or move state.db away: tokens, projects and sessions then begin anew, the catalog stays.'
      : 'Choose a folder of your own that can be written: --home or OUBLIETTE_HOME.';
    const reason = `${isDamaged ? `state.db is damaged (${message})` : message}. ${advice}`;
    throw fail('home.unusable', { home: root, reason }, { cause: error });
  }
}
