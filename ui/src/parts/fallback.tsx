import { Link } from '@tanstack/react-router';
import { messageOf } from '../api/errors.ts';
import { t } from '../texts/index.ts';
import { Empty, Page } from './page.tsx';

export function NotFound() {
  return (
    <Page title={t('fallback.title')}>
      <Empty icon="search" title={t('fallback.none')}>
        <p>
          <Link to="/">{t('fallback.home')}</Link>
        </p>
      </Empty>
    </Page>
  );
}

/** What is shown instead of a page that broke; the rest of the app goes on. */
export function Crash({ error, reset }: { error: unknown; reset?: () => void }) {
  return (
    <Page title={t('fallback.crash')} about={t('fallback.crashAbout')}>
      <pre className="out" tabIndex={0}>
        {messageOf(error)}
      </pre>
      <div className="row">
        {reset ? (
          <button className="button" onClick={reset}>
            {t('common.retry')}
          </button>
        ) : null}
        <button className="button" onClick={() => location.reload()}>
          {t('fallback.reload')}
        </button>
      </div>
    </Page>
  );
}
