import { availableParallelism } from 'node:os';

/** Waking a sleeping thread takes longer than most of our peers take to answer. */
const longestMs = 0.1;
/** After this many fruitless waits in a row our peers are slow, and waiting for them is a waste. */
const patience = 8;
/** From then on only every so many times, to notice when they are fast again. */
const rarely = 32;

// With a single core, the other side cannot even begin before we sleep.
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

/** To be called when something came in: if that was while we waited for it, waiting was worth it. */
export function cameIn(): void {
  if (isAwake) inVain = 0;
}

function look(): void {
  if (performance.now() < until) return void setImmediate(look);
  isAwake = false;
  inVain++;
}
