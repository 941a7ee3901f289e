let lastMs = 0;
let last = '';

/** The current time in ISO form, cached for a millisecond: many ask within one, and formatting is what costs. */
export function isoNow(): string {
  const now = Date.now();
  if (now !== lastMs) [lastMs, last] = [now, new Date(now).toISOString()];
  return last;
}
