// Sessions as one state machine: spawn, message, children, limits, pool, re-attach. May import: schema, store, config, auth, log, projects, sandbox, agents, observe.
export type { Reservation } from './budget.ts';
export { containerTools, imageTools } from './container-tools.ts';
export { callerTools, configTools } from './limit-tools.ts';
export { knownAgent } from './known-agent.ts';
export { nodeIdentity } from './node-identity.ts';
export type { BoxDoor, DoorIdentity, SessionPorts } from './ports.ts';
export { sessionTools } from './session-tools.ts';
export { sessions, type Sessions } from './sessions.ts';
