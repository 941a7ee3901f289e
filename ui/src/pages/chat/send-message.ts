import { own, request } from '../../api/client.ts';
import { queries } from '../../api/queries.ts';
import { keepTitle } from './chat-title.tsx';
import { lent } from './lent-tools.ts';

export interface SendOptions {
  message: string;
  projectId?: string;
  sessionId?: string;
  attachments?: { blob_id: string; name: string }[];
  /** The same key for every try of one message: the server takes it once. */
  key: string;
}

interface Sent {
  session_id: string;
  last_event_index: number;
}

/** Sends a message with the tools this page lends. Throws what the server says; the message may be sent again with the same key. */
export async function sendMessage({ message, projectId, sessionId, attachments, key }: SendOptions): Promise<Sent> {
  const sent = await own<Sent>(sessionId ? 'session_message' : 'session_spawn', {
    message,
    ...(sessionId ? { session_id: sessionId } : { project_id: projectId, permissions: 'ask' }),
    ...(attachments && attachments.length > 0 ? { attachments } : {}),
    idempotency_key: key,
    context: lent,
  });
  if (!sessionId) keepTitle(sent.session_id, message);
  void queries.invalidateQueries({ queryKey: ['session'] });
  return sent;
}

export async function uploadBlob(file: File): Promise<{ blob_id: string; name: string }> {
  const { blob_id } = await request<{ blob_id: string }>('POST', '/blobs', {
    body: file,
    headers: { 'content-type': file.type || 'application/octet-stream' },
  });
  return { blob_id, name: file.name };
}
