// Start, stop and watch sandboxes (docker/podman, bubblewrap); knows nothing of agents. May import: schema, config, observe.
export type * from './driver.ts';
export type * from './link.ts';
export { openLink } from './supervisor-link.ts';
