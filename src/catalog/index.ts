// Which bundles and tools exist, in which version, enabled or not; search. May import: schema, store, config.
export { Catalog } from './catalog.ts';
export { bundleFileName } from './stored-files.ts';
export type { OrderKey, ToolSummary } from './tool-summary.ts';
export * from './search.ts';
export { openSearchIndex } from './search-index.ts';
export { catalogSearch } from './catalog-search.ts';
