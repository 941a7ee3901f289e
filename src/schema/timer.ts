/** The longest delay of a timer; with a longer one it would fire at once. */
export const longestTimerMs = 2 ** 31 - 1;

/** For `setTimeout`: a time that may be over already, or lie years ahead. */
export const timerMs = (ms: number): number => Math.min(Math.max(1, ms), longestTimerMs);
