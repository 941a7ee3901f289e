/** How much workspace and spool of a sandbox may grow together. */
export const defaultDiskMb = 10 * 1024;

/** How long the build of an image may take. */
export const buildTimeoutMs = 30 * 60_000;
