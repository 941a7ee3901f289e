/** Whether a session's caller is there, counted by the owner's open streams on any door. */
export interface Presence {
  /** A stream of this principal for this session is open, until the function that this returns is called. */
  enter(sessionId: string, principal: string): () => void;
  isPresent(sessionId: string, principal: string): boolean;
  /** Fires when the last stream of a principal for a session closes. */
  onGone(listener: (sessionId: string, principal: string) => void): () => void;
  /** Fires when the first one opens. */
  onCome(listener: (sessionId: string, principal: string) => void): () => void;
}

type Listener = (sessionId: string, principal: string) => void;

export function presence(): Presence {
  const open = new Map<string, number>();
  const gone = new Set<Listener>();
  const come = new Set<Listener>();
  const keyOf = (sessionId: string, principal: string): string => `${sessionId} ${principal}`;
  return {
    enter(sessionId, principal) {
      const key = keyOf(sessionId, principal);
      const count = open.get(key) ?? 0;
      open.set(key, count + 1);
      if (count === 0) for (const listener of come) listener(sessionId, principal);
      let isOpen = true;
      return () => {
        if (!isOpen) return;
        isOpen = false;
        const left = (open.get(key) ?? 1) - 1;
        if (left > 0) return void open.set(key, left);
        open.delete(key);
        for (const listener of gone) listener(sessionId, principal);
      };
    },
    isPresent: (sessionId, principal) => open.has(keyOf(sessionId, principal)),
    onGone(listener) {
      gone.add(listener);
      return () => gone.delete(listener);
    },
    onCome(listener) {
      come.add(listener);
      return () => come.delete(listener);
    },
  };
}
