// Every shape that crosses a wire or a disk, and the error catalogue. May import: the schema library only.
export * from './actor.ts';
export * from './bundle.ts';
export * from './call.ts';
export * from './config.ts';
export * from './content.ts';
export * from './errors.ts';
export type * from './event.ts';
export * from './ids.ts';
export * from './json.ts';
export * from './level.ts';
export * from './names.ts';
export * from './provider.ts';
export * from './python-names.ts';
export * from './record.ts';
export * from './supervisor.ts';
export * from './tool.ts';
