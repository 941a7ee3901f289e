import { useSyncExternalStore } from 'react';
import { recall, remember } from '../parts/memory.ts';

export type Who = { level: 'read' | 'write' | 'admin'; name: string; version: string; expires_at?: string };

interface Presence {
  /** `expired` keeps the page and all that was typed; only a dialog asks to sign in again. */
  state: 'checking' | 'in' | 'out' | 'expired';
  who?: Who;
  isReachable: boolean;
}

let presence: Presence = { state: 'checking', isReachable: true };
const listeners = new Set<() => void>();

function set(next: Partial<Presence>): void {
  presence = { ...presence, ...next };
  for (const listener of listeners) listener();
}

export const usePresence = (): Presence =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => presence,
  );

export const currentPresence = (): Presence => presence;

export const markSignedIn = (who: Who): void => set({ state: 'in', who, isReachable: true });
export const markSignedOut = (): void => set({ state: 'out' });
export const markRefused = (): void => {
  if (presence.state === 'in') set({ state: 'expired' });
  else if (presence.state === 'checking') set({ state: 'out' });
};
export const markReachable = (isReachable: boolean): void => {
  if (presence.isReachable !== isReachable) set({ isReachable });
};

export const csrfSecret = (): string => recall<string>('csrf') ?? '';
export const keepCsrfSecret = (secret: string): void => remember('csrf', secret);
