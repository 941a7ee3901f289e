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
      setValue((before) => {
        const after = typeof next === 'function' ? (next as (before: T) => T)(before) : next;
        remember(`draft.${name}`, after);
        return after;
      });
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
