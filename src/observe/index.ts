// Logs, spans, stats, audit, metrics: what happened, to whom, how long, how many tokens. May import: schema, store, config.
export type * from './observer.ts';
export { doctorTools, examine, type Check, type DoctorReport, type Finding } from './doctor.ts';
export { machineChecks } from './machine-checks.ts';
export { openObserver } from './open-observer.ts';
export { auditTools, statsTools } from './tools.ts';
