import { useCallback, useEffect, useRef, useState } from 'react';
import { forget, recall, remember } from './memory.ts';

/**
 * State that survives a reload: kept in this browser under `name` until it is cleared.
 * `isElsewhere` turns true when another tab writes the same draft.
 */
export function useDraft<T>(name: string, initial: T) {
  const [value, setValue] = useState<T>(() => recall<T>(`draft.${name}`) ?? initial);
  const [isRestored, setRestored] = useState(() => recall(`draft.${name}`) !== undefined);
  const [isElsewhere, setElsewhere] = useState(false);
  const current = useRef(name);

  useEffect(() => {
    if (current.current === name) return;
    current.current = name;
    const kept = recall<T>(`draft.${name}`);
    setValue(kept ?? initial);
    setRestored(kept !== undefined);
  }, [name, initial]);

  useEffect(() => {
    const heard = (event: StorageEvent): void => {
      if (event.key === `oubliette.draft.${name}` && event.newValue !== null) setElsewhere(true);
    };
    addEventListener('storage', heard);
    return () => removeEventListener('storage', heard);
  }, [name]);

  const change = useCallback(
    (next: T | ((before: T) => T)) => {
      const kept = (after: T): T => (remember(`draft.${name}`, after), after);
      // Kept at once where it can be: whoever has left the page changes nothing on it any more.
      if (typeof next === 'function') setValue((before) => kept((next as (before: T) => T)(before)));
      else setValue(kept(next));
    },
    [name],
  );
  const clear = useCallback(
    (next: T) => {
      forget(`draft.${name}`);
      setRestored(false);
      setValue(next);
    },
    [name],
  );
  return { value, change, clear, isRestored, isElsewhere };
}
