// Permit, validate, run, bound, record; and every change to the catalog: the only way in. May import: schema, store, auth, catalog, sources, observe.
export { callGate } from './call-gate.ts';
export { catalogGate, type CatalogGate, type ToolKey } from './catalog-gate.ts';
export { exchange, type ConflictPolicy, type Exchange, type ImportReport } from './exchange.ts';
export type { Gate, KeepLarge, Sources, ToolRef } from './gate.ts';
export { directory } from './directory.ts';
export { lists, type FindTools, type Lists, type Match, type Page } from './lists.ts';
export { recordedChanges, recordedExchange } from './recorded-changes.ts';
export { ToolViews } from './tool-views.ts';
export { zipToSend, type PackedBundle } from './bundle-zip.ts';
