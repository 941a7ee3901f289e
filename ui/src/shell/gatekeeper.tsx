import { Outlet, useNavigate } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useServerChanges } from '../api/changes.ts';
import { usePresence } from '../api/presence.ts';
import { checkSignIn } from '../api/signin.ts';
import { Toasts } from '../parts/toasts.tsx';
import { useLanguage } from '../texts/index.ts';
import { ExpiredDialog } from './expired-dialog.tsx';
import { PaletteHost } from '../palette/palette-host.tsx';
import { Shell } from './shell.tsx';

/** Lets only signed-in people to the pages. An expired sign-in never takes the page away, it only asks again. */
export function Gatekeeper() {
  const { state, isReachable } = usePresence();
  const language = useLanguage();
  const navigate = useNavigate();
  useEffect(() => {
    void checkSignIn();
  }, []);
  useEffect(() => {
    if (state === 'out') void navigate({ to: '/signin', replace: true });
  }, [state, navigate]);
  useServerChanges(state === 'in' || state === 'expired');

  if (state !== 'in' && state !== 'expired') return <Waiting isReachable={isReachable} />;
  return (
    <PaletteHost key={language}>
      <Shell>
        <Outlet />
      </Shell>
      <Toasts />
      {state === 'expired' ? <ExpiredDialog /> : null}
    </PaletteHost>
  );
}

function Waiting({ isReachable }: { isReachable: boolean }) {
  return (
    <div className="signin" aria-busy="true">
      <img src="/app/icon.svg" width="40" height="40" alt={isReachable ? 'Oubliette' : 'Oubliette …'} />
    </div>
  );
}
