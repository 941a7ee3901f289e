import { stayAwake } from './stay-awake.ts';

let waiting: (() => void)[] = [];

/**
 * Answers that become ready in one turn of the event loop leave together: each one sent on its own would wake a client
 * that sleeps, and that costs more than the call.
 */
export function atEndOfTurn(send: () => void): void {
  if (waiting.push(send) === 1) setImmediate(sendAll);
}

function sendAll(): void {
  const ready = waiting;
  waiting = [];
  let sent = 0;
  try {
    while (sent < ready.length) ready[sent++]!();
    stayAwake();
  } finally {
    // An answer that throws must not take the others with it.
    if (sent < ready.length) for (const each of ready.slice(sent)) atEndOfTurn(each);
  }
}
