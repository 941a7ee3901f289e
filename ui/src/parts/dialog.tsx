import { Dialog as Radix } from 'radix-ui';
import type { ReactNode } from 'react';
import { t } from '../texts/index.ts';
import { returnFocus } from './focus-return.ts';
import { Icon } from './icon.tsx';

const fields = ['input', 'select', 'textarea'].map((tag) => `.dialog-body ${tag}:enabled`).join();

interface DialogProps {
  title: string;
  about?: ReactNode;
  children: ReactNode;
  foot?: ReactNode;
  isWide?: boolean;
  /** What it holds cannot be had again: a click beside it does not close it. */
  isPrecious?: boolean;
  onClose(): void;
}

/** A dialog that is open as long as it is rendered. The first field has the focus; Escape and the veil close it; focus returns to where it was. */
export function Dialog({ title, about, children, foot, isWide, isPrecious, onClose }: DialogProps) {
  return (
    <Radix.Root open onOpenChange={(open) => !open && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="veil" />
        <Radix.Content
          className={`dialog${isWide ? ' wide' : ''}`}
          onOpenAutoFocus={(event) => {
            const field = (event.currentTarget as HTMLElement).querySelector<HTMLElement>(fields);
            if (!field) return;
            event.preventDefault();
            field.focus();
          }}
          onCloseAutoFocus={returnFocus}
          onInteractOutside={(event) => isPrecious && event.preventDefault()}
          {...(about ? {} : { 'aria-describedby': undefined })}
        >
          <div className="dialog-head">
            <div className="stack tight">
              <Radix.Title asChild>
                <h2 className="words">{title}</h2>
              </Radix.Title>
              {about ? (
                <Radix.Description asChild>
                  <div className="quiet words">{about}</div>
                </Radix.Description>
              ) : null}
            </div>
            <Radix.Close className="button bare icon compact" aria-label={t('common.close')}>
              <Icon name="close" />
            </Radix.Close>
          </div>
          <div className="dialog-body">{children}</div>
          {foot ? <div className="dialog-foot">{foot}</div> : null}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
