// Code mode as a tool, stored programs as tools, and large answers kept by handle. May import: schema, store, config, code, observe.
export { codeTools } from './run-tool.ts';
export { scriptSource } from './script-source.ts';
export { keepValue } from './keep-large.ts';
