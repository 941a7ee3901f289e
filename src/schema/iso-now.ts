let lastMs = 0;
let last = '';

/** The time as it is written everywhere. Many ask within one millisecond, and writing it is what costs. */
export function isoNow(): string {
  const now = Date.now();
  if (now !== lastMs) [lastMs, last] = [now, new Date(now).toISOString()];
  return last;
}
