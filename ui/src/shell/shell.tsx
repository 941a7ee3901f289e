import { Link, useRouterState } from '@tanstack/react-router';
import { Dialog } from 'radix-ui';
import { useEffect, useRef, useState, type ReactNode } from 'react';
import { usePresence } from '../api/presence.ts';
import { returnFocus } from '../parts/focus-return.ts';
import { Icon } from '../parts/icon.tsx';
import { t } from '../texts/index.ts';
import { Sidebar } from './sidebar.tsx';

/** Navigation on the left (a drawer on narrow screens), the page on the right. */
export function Shell({ children }: { children: ReactNode }) {
  const [isOpen, setOpen] = useState(false);
  const { isReachable } = usePresence();
  useFocusOnNewPage();
  return (
    <div className="app">
      <a className="skip" href="#content">
        {t('shell.skip')}
      </a>
      <Sidebar />
      <div className="grow">
        <header className="topbar">
          <button className="button bare icon" onClick={() => setOpen(true)} aria-label={t('shell.openMenu')}>
            <Icon name="menu" />
          </button>
          <Link to="/" className="brand">
            <img src="/app/icon.svg" alt="" /> Oubliette
          </Link>
        </header>
        {isReachable ? null : (
          <div className="banner" role="status">
            <Icon name="warn" />
            {t('shell.offline')}
          </div>
        )}
        <main id="content" tabIndex={-1}>
          {children}
        </main>
      </div>
      <Dialog.Root open={isOpen} onOpenChange={setOpen}>
        <Dialog.Portal>
          <Dialog.Overlay className="veil" />
          <Dialog.Content className="drawer" aria-describedby={undefined} onCloseAutoFocus={returnFocus}>
            <Dialog.Title className="only-read">{t('shell.menu')}</Dialog.Title>
            <Sidebar onLeave={() => setOpen(false)} />
          </Dialog.Content>
        </Dialog.Portal>
      </Dialog.Root>
    </div>
  );
}

/** The link that was followed went with its page: the focus goes on in the new one, where it would be nowhere. */
function useFocusOnNewPage(): void {
  const path = useRouterState({ select: (state) => state.resolvedLocation?.pathname });
  const shown = useRef(path);
  useEffect(() => {
    if (shown.current !== undefined && shown.current !== path && document.activeElement === document.body)
      document.getElementById('content')?.focus({ preventScroll: true });
    shown.current = path;
  }, [path]);
}
