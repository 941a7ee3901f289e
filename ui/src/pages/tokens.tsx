import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { own } from '../api/client.ts';
import { messageOf } from '../api/errors.ts';
import { allBundles, allProjects, queries } from '../api/queries.ts';
import type { Token } from '../api/shapes.ts';
import { Confirm } from '../parts/confirm.tsx';
import { CopyButton } from '../parts/copy.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { SearchField, SelectField, TextField } from '../parts/fields.tsx';
import { Icon } from '../parts/icon.tsx';
import { LoadMore } from '../parts/load-more.tsx';
import { Card, Empty, Note, Page, Skeleton, Trouble } from '../parts/page.tsx';
import { When } from '../parts/when.tsx';
import { t } from '../texts/index.ts';

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
        <span className="small quiet cut">
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

const lifetimes = [
  ['', 'tokens.ttlNever'],
  ['3600', 'tokens.ttlHour'],
  ['86400', 'tokens.ttlDay'],
  ['2592000', 'tokens.ttlMonth'],
  ['31536000', 'tokens.ttlYear'],
] as const;

function TokenDialog({ onClose }: { onClose(): void }) {
  const projects = useQuery(allProjects());
  const bundles = useQuery(allBundles());
  const [name, setName] = useState('');
  const [scope, setScope] = useState('read');
  const [ttl, setTtl] = useState('2592000');
  const [inProjects, setInProjects] = useState<string[]>([]);
  const [inBundles, setInBundles] = useState<string[]>([]);
  const [made, setMade] = useState<Token & { token: string }>();
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const make = async (event: React.FormEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setProblem(undefined);
    try {
      setMade(
        await own('token_create', {
          name,
          scope,
          ...(ttl ? { ttl_seconds: Number(ttl) } : {}),
          ...(inProjects.length > 0 ? { projects: inProjects } : {}),
          ...(inBundles.length > 0 ? { bundles: inBundles } : {}),
        }),
      );
      await queries.invalidateQueries({ queryKey: ['token'] });
    } catch (error) {
      setProblem(messageOf(error));
    }
    setBusy(false);
  };
  if (made)
    return (
      <Dialog
        title={t('tokens.madeTitle', { name: made.name })}
        about={t('tokens.madeAbout')}
        onClose={onClose}
        foot={
          <button className="button primary" onClick={onClose}>
            {t('tokens.done')}
          </button>
        }
      >
        <pre className="out" tabIndex={0} data-testid="token-secret">
          {made.token}
        </pre>
        <div>
          <CopyButton text={made.token} />
        </div>
      </Dialog>
    );
  return (
    <Dialog
      title={t('tokens.new')}
      about={t('tokens.newAbout')}
      onClose={onClose}
      foot={
        <>
          <button className="button" onClick={onClose}>
            {t('common.cancel')}
          </button>
          <button className="button primary" form="token-form" disabled={isBusy || name.trim() === ''}>
            {t('tokens.create')}
          </button>
        </>
      }
    >
      <form id="token-form" className="stack" onSubmit={make}>
        <TextField
          label={t('tokens.name')}
          hint={t('tokens.nameHint')}
          value={name}
          onText={setName}
          autoFocus
          required
        />
        <div className="grid-2">
          <SelectField
            label={t('tokens.scope')}
            hint={t(`tokens.scope.${scope as 'read'}`)}
            value={scope}
            onText={setScope}
            options={[
              ['read', 'read'],
              ['write', 'write'],
              ['admin', 'admin'],
            ]}
          />
          <SelectField
            label={t('tokens.ttl')}
            value={ttl}
            onText={setTtl}
            options={lifetimes.map(([value, key]) => [value, t(key)] as const)}
          />
        </div>
        <Choices
          title={t('tokens.inProjects')}
          all={(projects.data?.projects ?? []).map((each) => [each.id, each.name] as const)}
          picked={inProjects}
          onChange={setInProjects}
        />
        <Choices
          title={t('tokens.inBundles')}
          all={(bundles.data ?? []).map((each) => [each.slug, each.displayName] as const)}
          picked={inBundles}
          onChange={setInBundles}
        />
        {problem ? <Note tone="bad">{problem}</Note> : null}
      </form>
    </Dialog>
  );
}

function Choices({
  title,
  all,
  picked,
  onChange,
}: {
  title: string;
  all: (readonly [string, string])[];
  picked: string[];
  onChange(picked: string[]): void;
}) {
  if (all.length === 0) return null;
  return (
    <details className="fold">
      <summary>
        {title}{' '}
        {picked.length > 0 ? (
          <span className="badge accent">{picked.length}</span>
        ) : (
          <span className="faint">{t('tokens.notNarrowed')}</span>
        )}
      </summary>
      <div className="stack tight" style={{ maxHeight: 180, overflowY: 'auto', padding: '8px 2px' }}>
        {all.map(([value, label]) => (
          <label key={value} className="check">
            <input
              type="checkbox"
              checked={picked.includes(value)}
              onChange={(event) =>
                onChange(event.target.checked ? [...picked, value] : picked.filter((each) => each !== value))
              }
            />
            {label}
          </label>
        ))}
      </div>
    </details>
  );
}
