// Permit, validate, run, bound, record; and every change to the catalog: the only way in. May import: schema, store, auth, catalog, sources, observe.
export type { DamagePolicy } from './bundle-export.ts';
export { callGate } from './call-gate.ts';
export { catalogGate, type CatalogGate, type ToolKey } from './catalog-gate.ts';
export { exchange, type ConflictPolicy, type Exchange } from './exchange.ts';
export type { Gate, Sources, ToolRef } from './gate.ts';
export { directory } from './directory.ts';
export { lists, type Lists } from './lists.ts';
export { recordedChanges, recordedExchange } from './recorded-changes.ts';
export { ToolViews } from './tool-views.ts';
export { leftOutOf, zipToSend } from './bundle-zip.ts';
