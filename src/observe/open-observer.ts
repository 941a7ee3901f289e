import { join } from 'node:path';
import type { ConfigRoom } from '../config/index.ts';
import { Failure, type CallRecord } from '../schema/index.ts';
import type { Database, Home } from '../store/index.ts';
import { Audit } from './audit.ts';
import { LogFile } from './log-file.ts';
import { jsonLogger } from './logger.ts';
import { Metrics } from './metrics.ts';
import type { Observer } from './observer.ts';
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
  const audit = await Audit.open({ db, key, sync, onError: onError('audit') });

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
    async record(record) {
      metrics.call(record);
      if (record.isDispatched) {
        usage.add(record);
        if (config.current().stats.enabled) slots.add(record);
      }
      logCall(log, record);
      await audit.add(record);
    },
    usage: (toolId) => usage.of(toolId),
    stats: (query) => slots.stats(query),
    series: (query) => slots.series(query),
    groups: (query, by) => slots.groups(query, by),
    verifyAudit: () => audit.verify(),
    auditRows: (query) => audit.rows(query),
    metricsText: () => metrics.text(),
    hmac: (text) => audit.hmac(text),
    async close() {
      await Promise.all([usage.close(), slots.close(), audit.close()]);
      await sync.close();
      await file.close();
      metrics.close();
    },
  };
}

/** One line per call, named as programs name it (`demo.foo`); what is asked over and over is told at debug. */
function logCall(log: Observer['log'], record: CallRecord): void {
  // The tools of `ot` log spans of their own, with what was asked, when they run.
  if (record.bundleSlug === 'ot' && record.isDispatched) return;
  const isPoll = record.level === 'read' && /^session_events$|_list$/.test(record.name);
  const { requestId, parent, name: tool, door, tokenId, projectId, sessionId, outcome } = record;
  const status = outcome === 'ok' ? 'ok' : 'error';
  log[isPoll ? 'debug' : 'info']({
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

const round = (ms: number): number => Math.round(ms * 1000) / 1000;
