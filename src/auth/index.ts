// Turn a credential into an actor; answer what it may. May import: schema, store.
export { ensureAdminToken, keepAdminToken } from './admin-token.ts';
export * from './may.ts';
export { isSameSecret } from './same-secret.ts';
export { tokenTools } from './tools.ts';
export { signIns, type SignedIn, type SignIns } from './sign-ins.ts';
export { tokens, type Tokens } from './tokens.ts';
