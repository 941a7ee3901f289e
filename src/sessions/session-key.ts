import type { SessionRow } from '../store/index.ts';
import type { SessionPorts } from './ports.ts';

/** Makes the key a session was promised; the older ones stop working. */
export async function mintKey(
  ports: SessionPorts,
  row: Pick<SessionRow, 'id' | 'project_id' | 'key_grant'>,
  drawn?: string,
): Promise<string | undefined> {
  const grant = row.key_grant;
  await ports.tokens.revokeOfSession(row.id);
  if (!grant) return undefined;
  const asker =
    grant.asker.tokenId === undefined ? grant.asker : await ports.tokens.actorOf(grant.asker.tokenId, grant.asker.door);
  const { secret } = await ports.tokens.mint(
    // Projects that the asker made itself lie in its reach though its own list cannot name them.
    { ...asker, ...(asker.projects && { projects: [...new Set([...asker.projects, ...grant.projects])] }) },
    {
      name: `key of ${row.id}`,
      scope: grant.scope,
      projects: grant.projects,
      ...(grant.bundles && { bundles: grant.bundles }),
      session: { id: row.id, projectId: row.project_id },
    },
    drawn,
  );
  return secret;
}
