import type { Delta } from '../schema/index.ts';
import type { RedactedItems } from '../store/index.ts';
import type { Feed } from './feed.ts';

/**
 * Hides secrets in what is shown live and piece by piece. What was held back when an event is stored is not shown any
 * more: the event has it whole.
 */
export function livePieces(redact: () => RedactedItems): (feed: Feed, delta: Delta) => Delta[] {
  const speaking = new WeakMap<Feed, { of: string; since: number; pieces: RedactedItems }>();
  return (feed, delta) => {
    let said = speaking.get(feed);
    if (said?.of !== delta.of || said.since !== feed.newest)
      speaking.set(feed, (said = { of: delta.of, since: feed.newest, pieces: redact() }));
    const shown = said.pieces.push(delta.text).map(({ value }) => value as string);
    return shown.filter((text) => text !== '').map((text) => ({ ...delta, text }));
  };
}
