// The parts of the supervisor, the first process in a sandbox; bundled by src/supervisor.ts. May import: schema/supervisor.ts, node.
export { agentProcess } from './agent-process.ts';
export { controlConnection } from './control.ts';
export { execConnection } from './exec-inside.ts';
export { openLoopback } from './loopback.ts';
export { spoolWriter } from './spool-writer.ts';
