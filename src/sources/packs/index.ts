// Pack files as bundles, each in a process of its own. May import: schema, store, observe.
export { openPacks, type PackProblem, type Packs, type PacksOptions } from './packs.ts';
