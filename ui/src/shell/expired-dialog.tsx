import { Dialog } from 'radix-ui';
import { returnFocus } from '../parts/focus-return.ts';
import { t } from '../texts/index.ts';
import { SignInForm } from './signin-form.tsx';

/** Asks to sign in again on top of the page, so that nothing typed is lost. */
export function ExpiredDialog() {
  return (
    <Dialog.Root open>
      <Dialog.Portal>
        <Dialog.Overlay className="veil" />
        <Dialog.Content
          onCloseAutoFocus={returnFocus}
          className="dialog"
          onEscapeKeyDown={(event) => event.preventDefault()}
          onInteractOutside={(event) => event.preventDefault()}
        >
          <div className="dialog-head">
            <div className="stack tight">
              <Dialog.Title asChild>
                <h2>{t('signin.expired')}</h2>
              </Dialog.Title>
              <Dialog.Description className="quiet">{t('signin.expiredAbout')}</Dialog.Description>
            </div>
          </div>
          <div className="dialog-body">
            <SignInForm onDone={() => undefined} />
          </div>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
