/** Bundles of the server's own tools. This page calls them all the time, so they say nothing about what people use. */
const own = new Set([
  'audit',
  'caller',
  'catalog',
  'config',
  'container',
  'doctor',
  'image',
  'preview',
  'project',
  'secret',
  'server',
  'session',
  'settings',
  'stats',
  'token',
  'workspace',
]);

export const isHousekeeping = (bundleSlug: string): boolean => own.has(bundleSlug);
