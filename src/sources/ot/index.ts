// The `ot` pack: discovery, help, stored results, statistics, notes. May import: schema, store, config, code, observe.
export { otTools } from './tools.ts';
export type { FindTools } from './help-search.ts';
export { tokenCounter } from './token-counter.ts';
export { hiddenMenuTokens } from './menu-tokens.ts';
