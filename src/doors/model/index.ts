// What a sandbox may reach outside: its model provider and the hosts its project lists. May import: schema, observe, sessions, sources.
export { egressDoor } from './egress-door.ts';
export { modelDoor } from './model-door.ts';
