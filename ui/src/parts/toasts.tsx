import { useEffect, useState, useSyncExternalStore } from 'react';
import { t } from '../texts/index.ts';
import { messageOf } from '../api/errors.ts';
import { Icon } from './icon.tsx';

interface Toast {
  id: number;
  tone: 'good' | 'bad' | 'plain';
  text: string;
  action?: { label: string; run(): void };
}

let toasts: Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();
const set = (next: Toast[]): void => {
  toasts = next;
  for (const listener of listeners) listener();
};

/** Shows a short notice at the edge of the page; with an action (such as undo) it stays longer. */
export function toast(text: string, options: { tone?: Toast['tone']; action?: Toast['action'] } = {}): void {
  const each: Toast = {
    id: ++lastId,
    tone: options.tone ?? 'plain',
    text,
    ...(options.action ? { action: options.action } : {}),
  };
  set([...toasts.slice(-3), each]);
}

export const toastError = (error: unknown): void => toast(messageOf(error), { tone: 'bad' });

const drop = (id: number): void => set(toasts.filter((each) => each.id !== id));

export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  return (
    <div className="toasts" role="region" aria-label={t('common.notices')} aria-live="polite">
      {shown.map((each) => (
        <OneToast key={each.id} toast={each} />
      ))}
    </div>
  );
}

function OneToast({ toast: { id, tone, text, action } }: { toast: Toast }) {
  const [isHeld, hold] = useState(false);
  useEffect(() => {
    if (isHeld) return;
    const timer = setTimeout(() => drop(id), action || tone === 'bad' ? 9_000 : 4_000);
    return () => clearTimeout(timer);
  }, [id, isHeld, action, tone]);
  return (
    <div
      className={`toast ${tone}`}
      onMouseEnter={() => hold(true)}
      onMouseLeave={() => hold(false)}
      onFocus={() => hold(true)}
      onBlur={() => hold(false)}
    >
      <Icon name={tone === 'bad' ? 'warn' : tone === 'good' ? 'check' : 'info'} />
      <span className="text">{text}</span>
      {action ? (
        <button className="button compact" onClick={() => (drop(id), action.run())}>
          {action.label}
        </button>
      ) : null}
      <button className="button bare icon compact" onClick={() => drop(id)} aria-label={t('common.close')}>
        <Icon name="close" size={13} />
      </button>
    </div>
  );
}
