// Turn a credential into an actor; answer what it may. May import: schema, store.
export { ensureAdminToken } from './admin-token.ts';
export * from './may.ts';
export { tokenTools } from './tools.ts';
export { tokens, type NewToken, type Tokens } from './tokens.ts';
