import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * A start leaves garbage of the size of the server itself, and an idle process never collects: this does it once, and
 * returns the pages to the system.
 */
export function giveBackMemory(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as NodeJS.GCFunction;
  setFlagsFromString('--no-expose-gc');
  setImmediate(() => collect({ type: 'major', execution: 'sync', flavor: 'last-resort' }));
}
