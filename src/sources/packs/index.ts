// Pack files as bundles, each in a process of its own. May import: schema, store, observe.
export { openPacks, type Packs } from './packs.ts';
