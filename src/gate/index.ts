// Permit, validate, run, bound, record; and every change to the catalog: the only way in. May import: schema, store, auth, catalog, sources, observe.
export type { Gate, ToolRef } from './gate.ts';
