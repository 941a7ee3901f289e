import { join } from 'node:path';
import type { ConfigRoom } from '../config/index.ts';
import { Failure, type CallRecord } from '../schema/index.ts';
import type { Database, Home } from '../store/index.ts';
import { Audit, isPoll } from './audit.ts';
import { Intake } from './intake.ts';
import { LogFile } from './log-file.ts';
import { jsonLogger, type LevelledLogger } from './logger.ts';
import { Metrics } from './metrics.ts';
import type { Observer } from './observer.ts';
import { runsOf } from './runs.ts';
import { StatSlots } from './stat-slots.ts';
import { UsageCounters } from './usage.ts';
import { WalSync } from './wal-sync.ts';

export interface ObserverOptions {
  home: Home;
  db: Database;
  config: Pick<ConfigRoom, 'current'>;
  /** Seals the audit and hides arguments; kept in the home, readable by the owner alone. */
  key: Buffer;
  level?: string;
}

/** Opens everything that remembers what happened. Fails only when `state.db` cannot be used. */
export async function openObserver({ home, db, config, key, level = 'info' }: ObserverOptions): Promise<Observer> {
  const file = new LogFile(join(home.logs, 'server.log'));
  let redact = (line: string): string => line;
  const log = jsonLogger(file, level, (line) => redact(line));
  const metrics = new Metrics();
  const onError = (what: string) => (error: unknown) => {
    metrics.problem();
    log.error({ span: `observe.${what}`, status: 'error', err: error }, `${what} could not be written`);
  };
  const sync = new WalSync(home.stateDb);
  const usage = await UsageCounters.open(db, onError('usage'));
  const slots = await StatSlots.open(db, onError('stats'));
  const audit = await Audit.open({ db, path: home.stateDb, key, sync, onError: onError('audit') });
  const intake = new Intake((records) => {
    const isCounted = config.current().stats.enabled;
    for (const record of records) if (record.level === 'read') audit.addRead(record);
    for (const run of runsOf(records)) {
      metrics.add(run);
      if (!run.like.isDispatched) continue;
      usage.add(run);
      if (isCounted) slots.add(run);
    }
  });

  return {
    log,
    setRedactor: (next) => (redact = next),
    async span(name, fields, run) {
      const startedAt = performance.now();
      const told = { ...fields };
      const tell = (status: string, more: object = {}): void =>
        log.info({ span: name, status, durationMs: round(performance.now() - startedAt), ...told, ...more });
      try {
        const value = await run(told);
        tell('ok');
        return value;
      } catch (error) {
        tell('error', error instanceof Failure ? { code: error.code, message: error.message } : { err: error });
        throw error;
      }
    },
    record(record, isBehind = false) {
      intake.add(record);
      logCall(log, record);
      if (record.level === 'read') return settled;
      if (!isBehind) return audit.write(record);
      audit.addRead(record);
      return settled;
    },
    usage: (toolId) => (intake.empty(), usage.of(toolId)),
    forgetGone: (isThere) => usage.forgetGone(isThere),
    stats: (query) => (intake.empty(), slots.stats(query)),
    series: (query) => (intake.empty(), slots.series(query)),
    groups: (query, by) => (intake.empty(), slots.groups(query, by)),
    verifyAudit: () => (intake.empty(), audit.verify()),
    pruneAudit: (before) => (intake.empty(), audit.prune(before)),
    auditRows: (query) => (intake.empty(), audit.rows(query)),
    metricsText: () => (intake.empty(), metrics.text()),
    async close() {
      intake.empty();
      await Promise.all([usage.close(), slots.close(), audit.close()]);
      await sync.close();
      await file.close();
      metrics.close();
    },
  };
}

/** One line per call, under its name in programs (`demo.foo`); repeated polls are logged at debug. */
function logCall(log: LevelledLogger, record: CallRecord): void {
  // The tools of `ot` log spans of their own, with what was asked, when they run.
  if (record.bundleSlug === 'ot' && record.isDispatched) return;
  const level = isPoll(record) ? 'debug' : 'info';
  if (!log.isLevelEnabled(level)) return;
  const { requestId, parent, name: tool, door, tokenId, projectId, sessionId, outcome } = record;
  const status = outcome === 'ok' ? 'ok' : 'error';
  log[level]({
    span: record.pack,
    status,
    ...(outcome !== 'ok' && { code: outcome }),
    durationMs: round(record.durationMs),
    requestId,
    ...(parent !== undefined && { parent }),
    tool,
    door,
    tokenId,
    projectId,
    sessionId,
  });
}

const settled = Promise.resolve();
const round = (ms: number): number => Math.round(ms * 1000) / 1000;
