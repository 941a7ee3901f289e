// Start, stop and watch sandboxes (docker/podman, bubblewrap); knows nothing of agents. May import: schema, config, observe.
export type * from './driver.ts';
export type * from './link.ts';
export { bubblewrapDriver } from './bubblewrap/bubblewrap.ts';
export { engineDriver } from './engine/engine.ts';
export { openLink } from './supervisor-link.ts';
export { openSandboxes, type Sandboxes } from './sandboxes.ts';
export { sandboxUser } from './sandbox-user.ts';
export { imageBuildTool } from './image-build-tool.ts';
