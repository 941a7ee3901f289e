import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { own } from '../api/client.ts';
import { queries } from '../api/queries.ts';
import type { Token } from '../api/shapes.ts';
import { Confirm } from '../parts/confirm.tsx';
import { SearchField } from '../parts/fields.tsx';
import { Icon } from '../parts/icon.tsx';
import { LoadMore } from '../parts/load-more.tsx';
import { Card, Empty, Page, Skeleton, Trouble } from '../parts/page.tsx';
import { When } from '../parts/when.tsx';
import { t } from '../texts/index.ts';
import { TokenDialog } from './token-dialog.tsx';

/** Tokens: made once and shown once, narrowed, with an end; seen here is only what they may and when they were last used. */
export function TokensPage() {
  const list = useInfiniteQuery({
    queryKey: ['token', 'list'],
    queryFn: ({ pageParam, signal }) =>
      own<{ tokens: Token[]; next_page_token?: string }>(
        'token_list',
        pageParam ? { page_token: pageParam } : {},
        signal,
      ),
    initialPageParam: '',
    getNextPageParam: (page) => page.next_page_token,
  });
  const [text, setText] = useState('');
  const [showRevoked, setShowRevoked] = useState(false);
  const [isMaking, setMaking] = useState(false);
  const [revoking, setRevoking] = useState<Token>();
  const tokens = (list.data?.pages.flatMap((page) => page.tokens) ?? [])
    .filter(
      (token) =>
        (showRevoked || !token.revoked) && `${token.name} ${token.id}`.toLowerCase().includes(text.toLowerCase()),
    )
    .sort((a, b) => b.created_at.localeCompare(a.created_at));
  return (
    <Page
      title={t('nav.tokens')}
      about={t('tokens.about')}
      actions={
        <button className="button primary" onClick={() => setMaking(true)}>
          <Icon name="plus" size={14} />
          {t('tokens.new')}
        </button>
      }
    >
      <Card
        isPlain
        title={
          <div className="grow">
            <SearchField label={t('tokens.search')} value={text} onText={setText} />
          </div>
        }
        actions={
          <label className="check small">
            <input type="checkbox" checked={showRevoked} onChange={(event) => setShowRevoked(event.target.checked)} />
            {t('tokens.showRevoked')}
          </label>
        }
      >
        {list.isError ? <Trouble error={list.error} retry={() => void list.refetch()} /> : null}
        {list.isLoading ? <Skeleton rows={4} /> : null}
        {list.data && tokens.length === 0 ? <Empty icon="tokens" title={t('common.nothingFound')} /> : null}
        <ul className="rows">
          {tokens.map((token) => (
            <TokenRow key={token.id} token={token} onRevoke={() => setRevoking(token)} />
          ))}
        </ul>
        <LoadMore pages={list} />
      </Card>
      {isMaking ? <TokenDialog onClose={() => setMaking(false)} /> : null}
      {revoking ? (
        <Confirm
          title={t('tokens.revokeTitle', { name: revoking.name })}
          action={t('tokens.revoke')}
          onClose={() => setRevoking(undefined)}
          run={async () => {
            await own('token_revoke', { token_id: revoking.id });
            await queries.invalidateQueries({ queryKey: ['token'] });
          }}
        >
          <p>{t('tokens.revokeAbout')}</p>
          <p className="small quiet">
            {t('tokens.lastUse')}: <When at={revoking.last_used_at} />
          </p>
        </Confirm>
      ) : null}
    </Page>
  );
}

const isOver = (token: Token): boolean =>
  Boolean(token.expires_at) && new Date(token.expires_at ?? '').getTime() < Date.now();

function TokenRow({ token, onRevoke }: { token: Token; onRevoke(): void }) {
  const isExpired = isOver(token);
  const reach = [...(token.projects ?? []), ...(token.bundles ?? [])];
  return (
    <li className={`item${token.revoked || isExpired ? ' off' : ''}`}>
      <div className="main">
        <div className="row wrap">
          <span className="name cut">{token.name}</span>
          <span className={`badge ${token.scope === 'admin' ? 'warn' : token.scope === 'write' ? 'info' : ''}`}>
            {token.scope}
          </span>
          {token.revoked ? (
            <span className="badge bad">{t('tokens.revoked')}</span>
          ) : isExpired ? (
            <span className="badge bad">{t('tokens.expired')}</span>
          ) : null}
        </div>
        <span className="small quiet words">
          <code>{token.id}</code> ·{' '}
          {reach.length > 0 ? t('tokens.only', { what: reach.join(', ') }) : t('tokens.everything')}
        </span>
      </div>
      <div className="side-info">
        <span className="tiny quiet end">
          {t('tokens.lastUse')}: <When at={token.last_used_at} />
          <br />
          {t('tokens.expires')}: <When at={token.expires_at} />
        </span>
        <button
          className="button compact danger"
          disabled={token.revoked === true}
          onClick={onRevoke}
          aria-label={t('tokens.revokeTitle', { name: token.name })}
        >
          {t('tokens.revoke')}
        </button>
      </div>
    </li>
  );
}
