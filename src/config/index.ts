// Read, check, watch, reload and edit config.yaml and prompts.yaml, all or nothing. May import: schema, store.
export { isHostEntry } from './host-entry.ts';
export { openConfig, type ConfigPaths, type ConfigRoom } from './config-room.ts';
export { configJsonSchema } from './published-schema.ts';
export { settingsTools } from './tools.ts';
export { toSettings } from './settings.ts';
