// The root file system that every sandbox starts from, made of what this machine has: no registry, no download. May import: schema, entry.
export { baseFolder } from './base-folder.ts';
export { packBase } from './base-tar.ts';
export { planBase, type BasePlan } from './base-plan.ts';
