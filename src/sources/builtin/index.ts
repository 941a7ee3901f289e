// Functions that run in our own process: the registry that main.ts fills, and the bundles that need no other room. May import: schema, store, config, code, observe.
export { functionSource } from './function-source.ts';
export { FunctionRegistry } from './registry.ts';
export { demoTools } from './demo.ts';
export { calcTools } from './calc.ts';
export { clockTools } from './clock.ts';
export { Compute } from './compute.ts';
export { dataTools } from './data.ts';
export { fsTools } from './fs.ts';
export { textTools } from './text.ts';
