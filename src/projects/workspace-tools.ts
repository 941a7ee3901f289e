import { argsOf, offerTool, type BuiltInBundle } from '../schema/index.ts';
import { workspaceView } from './project-view.ts';
import type { Projects } from './projects.ts';

const text = (description: string) => ({ type: 'string', description, minLength: 1, maxLength: 512 }) as const;
const external = {
  project_id: text('Id of the project, proj_...'),
  external_id: text('Your own name for the workspace, such as a chat or ticket id.'),
  source: text('Where the external id comes from, such as slack.'),
};

/** workspace_list, workspace_create, workspace_delete. */
export function workspaceTools(projects: Projects): BuiltInBundle {
  return {
    slug: 'workspace',
    displayName: 'Workspaces',
    description: 'Folders of a project in which sessions work.',
    isOwn: true,
    tools: [
      offerTool({
        slug: 'list',
        description: 'List the workspaces of a project, optionally only those with an external id or source.',
        level: 'read',
        argSchema: argsOf(external, ['project_id']),
        returns: '{workspaces: [{id, project_id, is_default, external_id, source, created_at, last_session_at}]}',
        example: 'workspace.list(project_id="proj_...")',
        run: async (args, call) => {
          const rows = await projects.workspaces(call.actor, args.project_id);
          const fits = (key: 'external_id' | 'source', value: string | null): boolean =>
            args[key] === undefined || args[key] === value;
          return {
            workspaces: rows
              .filter((row) => fits('external_id', row.external_id) && fits('source', row.source))
              .map(workspaceView),
          };
        },
      }),
      offerTool({
        slug: 'create',
        description:
          'Create a workspace in a project. An external id that is known already answers the workspace it names.',
        level: 'write',
        argSchema: argsOf(external, ['project_id']),
        returns: '{id, project_id, is_default, external_id, source, created_at, last_session_at}',
        example: 'workspace.create(project_id="proj_...", external_id="ticket-7", source="tracker")',
        run: async ({ project_id, ...more }, call) =>
          workspaceView(await projects.createWorkspace(call.actor, project_id, more)),
      }),
      offerTool({
        slug: 'delete',
        description: 'Delete a workspace and its files. The default workspace and one with a live session are refused.',
        level: 'write',
        argSchema: argsOf({ workspace_id: text('Id of the workspace, wsp_...') }, ['workspace_id']),
        returns: '{id, deleted: true}',
        example: 'workspace.delete(workspace_id="wsp_...")',
        run: async ({ workspace_id }, call) => {
          await projects.deleteWorkspace(call.actor, workspace_id);
          return { id: workspace_id, deleted: true };
        },
      }),
    ],
  };
}
