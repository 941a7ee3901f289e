import { useState } from 'react';
import { t } from '../texts/index.ts';
import { Icon } from './icon.tsx';
import { toast } from './toasts.tsx';

/** True when the text is on the clipboard; either way the person is told. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    toast(t('common.copied'), { tone: 'good' });
    return true;
  } catch {
    toast(t('common.copyFailed'), { tone: 'bad' });
    return false;
  }
}

export function CopyButton({ text, label }: { text: string; label?: string }) {
  const [isDone, setDone] = useState(false);
  return (
    <button
      type="button"
      className="button bare compact"
      onClick={async () => {
        if (!(await copyText(text))) return;
        setDone(true);
        setTimeout(() => setDone(false), 1500);
      }}
    >
      <Icon name={isDone ? 'check' : 'copy'} size={13} />
      {label ?? t('common.copy')}
    </button>
  );
}
