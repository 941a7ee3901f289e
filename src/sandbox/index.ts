// Start, stop and watch sandboxes (docker/podman, bubblewrap); knows nothing of agents. May import: schema, config, observe.
export type * from './driver.ts';
export type * from './link.ts';
export { openLink } from './supervisor-link.ts';
export { bubblewrapDriver } from './bubblewrap/bubblewrap.ts';
export { prepareFolders, sandboxUser } from './sandbox-user.ts';
