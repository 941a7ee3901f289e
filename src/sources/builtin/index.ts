// Functions that run in our own process: the registry that main.ts fills, and the bundles that need no other room. May import: schema, store, config, code, observe.
export { functionSource } from './function-source.ts';
export { FunctionRegistry, type FunctionFinder, type RegisteredFunction } from './registry.ts';
export { demoTools } from './demo.ts';
