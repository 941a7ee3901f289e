import type { Project } from '../projects/index.ts';
import { fail, reaches, type Actor, type CallerDeclaration, type Level } from '../schema/index.ts';
import type { KeyGrant } from '../store/index.ts';
import { declarationOf, type CallerArgs } from './caller-declaration.ts';
import type { SessionPorts } from './ports.ts';

/** In bytes, as file systems count. */
const longestFileName = 255;

/** What `session_message` and `session_spawn` take. */
export interface MessageArgs extends CallerArgs {
  project_id?: string;
  session_id?: string;
  message: string;
  workspace_id?: string;
  create_workspace?: boolean;
  external_id?: string;
  source?: string;
  agent?: string;
  model?: string;
  attachments?: Attached[];
  grant?: { scope?: Level; bundles?: string[]; projects?: string[] };
  permissions?: 'auto' | 'deny' | 'ask';
  idempotency_key?: string;
  context?: CallerArgs;
}

interface Attached {
  blob_id: string;
  name: string;
}

/** What a message brings besides its text. */
export interface Extras {
  caller?: CallerDeclaration;
  grant?: KeyGrant;
}

/** Checks attachments, caller declaration and grant of a message. */
export async function admitExtras(
  ports: SessionPorts,
  actor: Actor,
  args: MessageArgs,
  project: Project,
): Promise<Extras> {
  for (const attached of args.attachments ?? []) await demandAttachment(ports, actor, attached);
  const caller = declarationOf(args, args.context, ports.settings().limits.callerTimeoutMs);
  const grant = args.grant && (await admitGrant(ports, actor, args.grant, project));
  return { ...(caller && { caller }), ...(grant && { grant }) };
}

async function demandAttachment(ports: SessionPorts, actor: Actor, { blob_id, name }: Attached): Promise<void> {
  const blob = await ports.blobs.get(blob_id);
  const isTheirs = blob !== undefined && (blob.owner === actor.principal || reaches(actor.level, 'admin'));
  if (!isTheirs) throw fail('blob.not_found', { ref: blob_id });
  if (name === '.' || name === '..' || /[/\0]/.test(name) || Buffer.byteLength(name) > longestFileName)
    throw fail('request.invalid', { reason: `${JSON.stringify(name)} is no file name for an attachment` });
}

/** Nobody grants a higher level than their own, or a project out of their reach. */
async function admitGrant(
  ports: SessionPorts,
  actor: Actor,
  { scope = 'read', bundles, projects }: NonNullable<MessageArgs['grant']>,
  project: Project,
): Promise<KeyGrant> {
  if (!reaches(actor.level, scope))
    throw fail('scope.denied', { tool: `a grant of scope ${scope}`, need: scope, have: actor.level });
  const granted = projects ?? [project.id];
  for (const id of granted) if (id !== project.id || actor.kind !== 'session') await ports.projects.get(actor, id);
  return { scope, ...(bundles && { bundles }), projects: granted, asker: actor };
}
