import { availableParallelism } from 'node:os';

/** A sleeping thread takes longer to wake than most of those we talk to take to answer. */
const longestMs = 0.1;
/** So often in a row nothing came in time: whoever we talk to is slow, and looking out for them is a waste. */
const patience = 8;
/** Then only every so many times, to notice when they are quick again. */
const rarely = 32;

// With a single core the other side could not even begin before we sleep.
const isPossible = availableParallelism() > 1;
let until = 0;
let isAwake = false;
let inVain = 0;

/**
 * To be called after something was sent that is likely to be answered at once: for a tenth of a millisecond the event
 * loop goes on looking for the answer instead of falling asleep. Everything else is served meanwhile as ever.
 */
export function stayAwake(): void {
  if (!isPossible) return;
  if (isAwake) inVain = 0;
  else if (inVain >= patience && inVain++ % rarely !== 0) return;
  until = performance.now() + longestMs;
  if (isAwake) return;
  isAwake = true;
  setImmediate(look);
}

/** To be called when something came in: if it did so while we looked out for it, that was worth it. */
export function cameIn(): void {
  if (isAwake) inVain = 0;
}

function look(): void {
  if (performance.now() < until) return void setImmediate(look);
  isAwake = false;
  inVain++;
}
