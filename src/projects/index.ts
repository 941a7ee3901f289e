// Projects, workspaces, images, what a project grants. May import: schema, store, config, sandbox, observe.
export { projectTools } from './project-tools.ts';
export { projects, type Project, type Projects } from './projects.ts';
export type { Blobs as BlobDoor } from '../store/index.ts';
export { archive, readPlace, removePlace, writePlace } from './workspace-files.ts';
export { workspaceTools } from './workspace-tools.ts';
