import { useEffect, type ReactNode } from 'react';
import { t } from '../texts/index.ts';
import { messageOf } from '../api/errors.ts';
import { Icon, type IconName } from './icon.tsx';

interface PageProps {
  title: string;
  about?: ReactNode;
  crumbs?: ReactNode;
  actions?: ReactNode;
  badges?: ReactNode;
  isWide?: boolean;
  children: ReactNode;
}

/** The frame of a page: title, one line about it, actions on the right. */
export function Page({ title, about, crumbs, actions, badges, isWide, children }: PageProps) {
  useTitle(title);
  return (
    <div className={`page${isWide ? ' wide' : ''}`}>
      <header className="page-head">
        <div className="title">
          {crumbs ? (
            <nav className="crumbs" aria-label={t('common.crumbs')}>
              {crumbs}
            </nav>
          ) : null}
          <div className="row wrap">
            <h1 className="words">{title}</h1>
            {badges}
          </div>
          {about ? <p>{about}</p> : null}
        </div>
        {actions ? <div className="actions">{actions}</div> : null}
      </header>
      {children}
    </div>
  );
}

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Oubliette`;
  }, [title]);
}

export function Card({
  title,
  actions,
  children,
  isPlain,
}: {
  title?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
  isPlain?: boolean;
}) {
  return (
    <section className="card">
      {title || actions ? (
        <div className="card-head">
          {typeof title === 'string' ? <h2>{title}</h2> : title}
          {actions ? <div className="row wrap">{actions}</div> : null}
        </div>
      ) : null}
      {isPlain ? children : <div className="card-body">{children}</div>}
    </section>
  );
}

export function Empty({ icon, title, children }: { icon: IconName; title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <Icon name={icon} />
      <h2 className="empty-title">{title}</h2>
      {children}
    </div>
  );
}

/** Grey bars in the shape of what is coming, so that nothing jumps when it arrives. */
export function Skeleton({ rows = 4, height = 34 }: { rows?: number; height?: number }) {
  return (
    <div className="card-body" aria-busy="true" aria-label={t('common.loading')} role="status">
      {Array.from({ length: rows }, (_, index) => (
        <span key={index} className="skeleton" style={{ height, width: `${100 - ((index * 13) % 30)}%` }} />
      ))}
    </div>
  );
}

export function Note({
  tone,
  icon,
  children,
}: {
  tone?: 'bad' | 'warn' | 'good' | 'info';
  icon?: IconName;
  children: ReactNode;
}) {
  return (
    <div className={`note${tone ? ` ${tone}` : ''}`} role={tone === 'bad' ? 'alert' : undefined}>
      <Icon name={icon ?? (tone === 'bad' || tone === 'warn' ? 'warn' : tone === 'good' ? 'check' : 'info')} />
      <div className="grow stack tight">{children}</div>
    </div>
  );
}

/** What a list shows when its request failed: the server's words and a way to try again. */
export function Trouble({ error, retry }: { error: unknown; retry?: () => void }) {
  return (
    <div className="card-body">
      <Note tone="bad">
        <span>{messageOf(error)}</span>
        {retry ? (
          <span>
            <button className="button compact" onClick={retry}>
              {t('common.retry')}
            </button>
          </span>
        ) : null}
      </Note>
    </div>
  );
}
