import { useQuery } from '@tanstack/react-query';
import { request } from '../../api/client.ts';
import type { SessionEvent } from '../../api/shapes.ts';
import { recall, remember } from '../../parts/memory.ts';

const longest = 80;
const nameOf = (sessionId: string): string => `chat-title.${sessionId}`;

/** Names a conversation by the first words that were said in it. */
export function keepTitle(sessionId: string, message: string): string {
  const title = message.slice(0, 2_000).replace(/\s+/g, ' ').trim().slice(0, longest);
  remember(nameOf(sessionId), title);
  return title;
}

/** The name of a conversation where this browser has learnt it. */
export const knownTitle = (sessionId: string): string | undefined => recall<string>(nameOf(sessionId));

/** What a conversation began with: known at once where it began in this browser, else asked for once; its id until someone spoke. */
export function useChatTitle(sessionId: string): string {
  const known = knownTitle(sessionId);
  const asked = useQuery({
    queryKey: ['session', 'title', sessionId],
    queryFn: ({ signal }) => askForTitle(sessionId, signal),
    enabled: known === undefined,
    staleTime: 60_000,
  });
  return known || asked.data || sessionId;
}

async function askForTitle(sessionId: string, signal: AbortSignal): Promise<string | null> {
  const { events } = await request<{ events: SessionEvent[] }>(
    'GET',
    `/sessions/${encodeURIComponent(sessionId)}/events?max_events=10`,
    { headers: { accept: 'application/json' }, signal },
  );
  const first = events.find((event) => event.type === 'message' && event['role'] === 'user');
  return first ? keepTitle(sessionId, String(first['text'])) : null;
}

/** A title in a line of other things: whatever direction it is written in stays its own affair. */
export function ChatTitle({ sessionId }: { sessionId: string }) {
  return <bdi>{useChatTitle(sessionId)}</bdi>;
}
