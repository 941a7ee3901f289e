// A session's durable events and its asks: append, wake, read on, answer once. May import: schema, store.
export { asks, type Asks } from './asks.ts';
export { eventLog, type EventLog, type LogTransaction } from './event-log.ts';
export type { Followed } from './follow.ts';
export { presence, type Presence } from './presence.ts';
