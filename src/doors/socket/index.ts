// The socket in each sandbox's folder: which socket was used is the identity. May import: schema, gate, auth, log, sessions, sources.
export { relayDoor } from './relay-door.ts';
