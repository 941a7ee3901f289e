// Logs, spans, stats, audit, metrics: what happened, to whom, how long, how many tokens. May import: schema, store, config.
export type * from './observer.ts';
