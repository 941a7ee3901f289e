// Speak to an agent process and turn its stream into our events; knows nothing of containers. May import: schema, config, observe.
export type * from './agent.ts';
export { acpDriver } from './acp/acp.ts';
export { agentOf, clientServer } from './agent-command.ts';
export { droidFiles } from './droid/droid.ts';
