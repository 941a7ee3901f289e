import { Outlet, useNavigate } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { useServerChanges } from '../api/changes.ts';
import { usePresence } from '../api/presence.ts';
import { checkSignIn } from '../api/signin.ts';
import { Toasts } from '../parts/toasts.tsx';
import { useLanguage } from '../texts/index.ts';
import { ExpiredDialog } from './expired-dialog.tsx';
import { PaletteHost } from '../palette/palette-host.tsx';
import { Shell } from './shell.tsx';
import { comeBackTo } from './signin-page.tsx';

/** Lets only signed-in people to the pages. An expired sign-in never takes the page away, it only asks again. */
export function Gatekeeper() {
  const { state, isReachable } = usePresence();
  const language = useLanguage();
  const navigate = useNavigate();
  useEffect(() => {
    void checkSignIn();
  }, []);
  const wasIn = useRef(false);
  useEffect(() => {
    if (state === 'in') wasIn.current = true;
    if (state !== 'out') return;
    // Whoever signs out has left the page for good; whoever followed a link to it has not been there yet.
    if (!wasIn.current) comeBackTo(location.pathname + location.search);
    void navigate({ to: '/signin', replace: true });
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
