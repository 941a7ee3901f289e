import type { Actor, ToolView } from '../../schema/index.ts';

const readTools = [
  'project_list',
  'project_get',
  'session_list',
  'session_get',
  'session_events',
  'workspace_list',
  'config_limits',
];
const writeBundles = ['project', 'container', 'session', 'workspace'];

/** Which of the server's own tools a key of this level is offered in a sandbox: fixed lists, so that none slips in unseen. */
export function isOffered({ level }: Actor, tool: ToolView): boolean {
  if (level === 'admin') return true;
  if (readTools.includes(tool.name)) return true;
  return level === 'write' && (writeBundles.includes(tool.bundleSlug) || tool.name === 'image_rebuild');
}
