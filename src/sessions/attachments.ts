import { createReadStream } from 'node:fs';
import type { Attachment } from '../agents/index.ts';
import { writePlace } from '../projects/index.ts';
import { insidePaths } from '../schema/index.ts';
import type { SessionPorts } from './ports.ts';

const folder = '.attachments';
const maxBytes = 256 * 1024 * 1024;

/** Copies blobs into the workspace and answers where the agent finds them. One that is gone is left out. */
export async function placeAttachments(
  ports: SessionPorts,
  at: { workspace_id: string; project_id: string },
  wanted: readonly { blob_id: string; name: string }[],
): Promise<Attachment[]> {
  const placed: Attachment[] = [];
  const root = ports.projects.folderOf({ id: at.workspace_id, project_id: at.project_id });
  for (const { blob_id, name } of wanted) {
    const blob = await ports.blobs.get(blob_id);
    if (!blob) continue;
    const path = `${folder}/${blob_id}/${name}`;
    await writePlace(root, path, createReadStream(ports.blobs.pathOf(blob_id)), maxBytes);
    placed.push({ path: `${insidePaths.workspace}/${path}`, name, ...(blob.mime && { mimeType: blob.mime }) });
  }
  return placed;
}
