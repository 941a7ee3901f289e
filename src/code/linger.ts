// The same idea as `Stragglers` of schema, written for this room alone: programs in a sandbox carry it, and it imports nothing of ours.
/** Something that is usually over in a moment, and is worth a timer of its own only when it is not. */
export interface Lingering {
  /** Called once, some time after it began, if it is not over by then. */
  linger(): void;
}

const aMomentMs = 20;
let fresh = new Set<Lingering>();
let timer: NodeJS.Timeout | undefined;

/** From now on it has begun: within 20 ms it is over or lingers. One timer serves all that begin in that time. */
export function begun(each: Lingering): void {
  fresh.add(each);
  timer ??= setTimeout(look, aMomentMs);
}

export function over(each: Lingering): void {
  fresh.delete(each);
}

function look(): void {
  timer = undefined;
  const late = fresh;
  // A new set: one that is emptied over and over keeps its old entries from the garbage collector.
  fresh = new Set();
  for (const each of late) each.linger();
}
