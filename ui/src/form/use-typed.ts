import { useState } from 'react';

/**
 * How a value was written, for as long as it is that value: half a number stays as it is typed, but a value that comes
 * from elsewhere (another row moved up, an example, an undo) is written anew.
 */
export function useTyped<T>(value: unknown, write: (value: unknown) => T): [T, (as: T, value: unknown) => void] {
  const [typed, setTyped] = useState(() => ({ as: write(value), value }));
  return [Object.is(typed.value, value) ? typed.as : write(value), (as, next) => setTyped({ as, value: next })];
}
