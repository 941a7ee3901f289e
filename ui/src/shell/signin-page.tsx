import { useRouter } from '@tanstack/react-router';
import { useCallback, useEffect, useState } from 'react';
import { messageOf } from '../api/errors.ts';
import { signIn } from '../api/signin.ts';
import { useTitle } from '../parts/page.tsx';
import { t } from '../texts/index.ts';
import { SignInForm } from './signin-form.tsx';

let taken: string | undefined;
let wanted = '/app/';

/** Where a sign-in by hand leads: to the page that was asked for. */
export const comeBackTo = (address: string): void => void (wanted = address);

/** The page of the sign-in link: the code is in the fragment, so it reaches no log, and is used at once. */
export function SignInPage() {
  const { history } = useRouter();
  const [problem, setProblem] = useState<string>();
  const [isTrying, setTrying] = useState(location.hash.includes('code='));
  useTitle(t('signin.title'));
  const enter = useCallback(() => {
    history.replace(wanted);
    wanted = '/app/';
  }, [history]);
  useEffect(() => {
    const take = (): void => {
      const code = /code=([^&]+)/.exec(location.hash)?.[1];
      if (!code || taken === code) return;
      taken = code;
      window.history.replaceState(null, '', location.pathname);
      setTrying(true);
      signIn(code).then(enter, (error: unknown) => {
        setProblem(messageOf(error));
        setTrying(false);
      });
    };
    take();
    // Whoever has this page open and pastes a link into the address bar changes only the fragment.
    addEventListener('hashchange', take);
    return () => removeEventListener('hashchange', take);
  }, [enter]);
  return (
    <main className="signin">
      <div className="card" aria-busy={isTrying}>
        <div className="row">
          <img src="/app/icon.svg" width="30" height="30" alt="" />
          <h1>{t('signin.title')}</h1>
        </div>
        {isTrying ? (
          <p className="quiet" role="status">
            {t('signin.trying')}
          </p>
        ) : (
          <>
            <p className="quiet">{t('signin.about')}</p>
            <SignInForm onDone={enter} problem={problem} />
          </>
        )}
      </div>
    </main>
  );
}
