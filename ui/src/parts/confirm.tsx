import { useState, type ReactNode } from 'react';
import { messageOf } from '../api/errors.ts';
import { t } from '../texts/index.ts';
import { Dialog } from './dialog.tsx';
import { Note } from './page.tsx';

interface ConfirmProps {
  title: string;
  /** What will be lost, in so many words. */
  children: ReactNode;
  action: string;
  run(): Promise<unknown>;
  onClose(): void;
}

/** Asks before something is lost. A refusal is shown in place and the dialog stays. */
export function Confirm({ title, children, action, run, onClose }: ConfirmProps) {
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const go = async (): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      await run();
      onClose();
    } catch (error) {
      setProblem(messageOf(error));
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={title}
      onClose={onClose}
      foot={
        <>
          <button className="button" onClick={onClose}>
            {t('common.cancel')}
          </button>
          <button className="button primary danger" onClick={go} disabled={isBusy}>
            {action}
          </button>
        </>
      }
    >
      {children}
      {problem ? <Note tone="bad">{problem}</Note> : null}
    </Dialog>
  );
}
