// Functions in our process that tools may be made of. May import: schema, store, config, code, observe.
export { plainFunctions } from './plain-functions.ts';
