import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from './files.ts';

/** Where everything of one installation lies. */
export interface Home {
  root: string;
  config: string;
  prompts: string;
  adminToken: string;
  serverInfo: string;
  catalog: string;
  packs: string;
  stateDb: string;
  indexDb: string;
  logs: string;
  results: string;
  notes: string;
  reports: string;
  blobs: string;
  projects: string;
  run: string;
}

/** Makes the folders that are missing, all of them private to the user, and answers their paths. */
export async function openHome(root: string): Promise<Home> {
  const home = homePaths(root);
  await makeFolder(root);
  await chmod(root, 0o700);
  for (const folder of ['catalog', 'packs', 'logs', 'results', 'notes', 'reports', 'blobs', 'projects', 'run'] as const)
    await makeFolder(home[folder]);
  return home;
}

export function homePaths(root: string): Home {
  return {
    root,
    config: join(root, 'config.yaml'),
    prompts: join(root, 'prompts.yaml'),
    adminToken: join(root, 'admin.token'),
    serverInfo: join(root, 'server.json'),
    catalog: join(root, 'catalog'),
    packs: join(root, 'packs'),
    stateDb: join(root, 'state.db'),
    indexDb: join(root, 'index.db'),
    logs: join(root, 'logs'),
    results: join(root, 'results'),
    notes: join(root, 'notes'),
    reports: join(root, 'reports'),
    blobs: join(root, 'blobs'),
    projects: join(root, 'projects'),
    run: join(root, 'run'),
  };
}
