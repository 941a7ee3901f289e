// Which bundles and tools exist, in which version, enabled or not; search. May import: schema, store, config.
export { Catalog, type CatalogChange } from './catalog.ts';
export { pageTokens, type PageTokens } from './page-token.ts';
export type { OrderKey, ToolSummary } from './tool-summary.ts';
export * from './search.ts';
export { openSearchIndex, type SearchIndexOptions } from './search-index.ts';
export { catalogSearch, type CatalogSearch } from './catalog-search.ts';
