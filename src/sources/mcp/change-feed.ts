import type { Link } from './link.ts';

const firstPauseMs = 1_000;
const longestPauseMs = 60_000;

export interface ChangeFeedHooks {
  /** False once nobody wants to hear of this connection any more. */
  isWanted(): boolean;
  /** Changes may have been missed. */
  onGap(): void;
  onTrouble(error: Error): void;
}

/** 2026 era: keeps a stream open on which a server tells of changed lists. Older servers tell unasked. */
export async function followChanges(link: Link, { isWanted, onGap, onTrouble }: ChangeFeedHooks): Promise<void> {
  const { tools, prompts, resources } = link.capabilities;
  const filter = {
    ...(tools?.['listChanged'] === true && { toolsListChanged: true }),
    ...(prompts?.['listChanged'] === true && { promptsListChanged: true }),
    ...(resources?.['listChanged'] === true && { resourcesListChanged: true }),
  };
  if (link.era !== 'modern' || Object.keys(filter).length === 0) return;
  for (let pauseMs = firstPauseMs; isWanted(); pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    const stream = await link.listen(filter).catch(onTrouble);
    if (stream) {
      await stream.closed;
      onGap();
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs).unref());
  }
}
