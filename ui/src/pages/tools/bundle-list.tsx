import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useDeferredValue, useState } from 'react';
import { allBundles, bundlesPaged, toolSearch } from '../../api/queries.ts';
import type { Bundle } from '../../api/shapes.ts';
import { SearchField, Switch } from '../../parts/fields.tsx';
import { Icon } from '../../parts/icon.tsx';
import { LoadMore } from '../../parts/load-more.tsx';
import { Card, Empty, Page, Skeleton, Trouble } from '../../parts/page.tsx';
import { When } from '../../parts/when.tsx';
import { t, tn } from '../../texts/index.ts';
import { BundleDialog } from './bundle-dialog.tsx';
import { useBundleSwitch } from './switches.ts';
import { ToolRows } from './tool-rows.tsx';

export function BundleListPage() {
  const search = useSearch({ strict: false }) as { q?: string };
  const navigate = useNavigate();
  const [isMaking, setMaking] = useState(false);
  const text = search.q ?? '';
  const wanted = useDeferredValue(text.trim());
  return (
    <Page
      title={t('nav.tools')}
      about={t('tools.about')}
      actions={
        <>
          <Link className="button" to="/tools/import">
            <Icon name="upload" size={14} />
            {t('tools.import')}
          </Link>
          <button className="button primary" onClick={() => setMaking(true)}>
            <Icon name="plus" size={14} />
            {t('bundle.new')}
          </button>
        </>
      }
    >
      <SearchField
        label={t('tools.searchAll')}
        value={text}
        onText={(q) => void navigate({ to: '/tools', search: q ? { q } : {}, replace: true })}
      />
      {wanted ? (
        <>
          <FoundBundles text={wanted} />
          <FoundTools text={wanted} />
        </>
      ) : (
        <Bundles onNew={() => setMaking(true)} />
      )}
      {isMaking ? <BundleDialog onClose={() => setMaking(false)} /> : null}
    </Page>
  );
}

function Bundles({ onNew }: { onNew(): void }) {
  const list = useInfiniteQuery(bundlesPaged());
  const bundles = list.data?.pages.flatMap((page) => page.bundles) ?? [];
  const own = bundles.filter((each) => each.kind === 'stored');
  const rest = bundles.filter((each) => each.kind !== 'stored');
  if (list.isError)
    return (
      <Card isPlain>
        <Trouble error={list.error} retry={() => void list.refetch()} />
      </Card>
    );
  if (list.isLoading)
    return (
      <Card isPlain>
        <Skeleton rows={6} />
      </Card>
    );
  return (
    <>
      <Card title={t('bundle.yours')} isPlain>
        {own.length === 0 ? (
          <Empty icon="box" title={t('bundle.noneTitle')}>
            <p>{t('bundle.noneAbout')}</p>
            <button className="button" onClick={onNew}>
              {t('bundle.new')}
            </button>
          </Empty>
        ) : (
          <BundleRows bundles={own} />
        )}
      </Card>
      <Card title={t('bundle.provided')} isPlain>
        <BundleRows bundles={rest} />
        <LoadMore pages={list} />
      </Card>
    </>
  );
}

function BundleRows({ bundles }: { bundles: Bundle[] }) {
  const turn = useBundleSwitch();
  return (
    <ul className="rows">
      {bundles.map((bundle) => (
        <li key={bundle.id} className={`item keep${bundle.isEnabled ? '' : ' off'}`}>
          <div className="main">
            <div className="row wrap">
              <Link className="name cut" to="/tools/$bundleID" params={{ bundleID: bundle.id }}>
                {bundle.displayName}
              </Link>
              <code className="tiny faint">{bundle.slug}</code>
              {bundle.kind === 'stored' ? null : <span className="badge">{t(`bundle.kind.${bundle.kind}`)}</span>}
            </div>
            <span className="small quiet cut" dir="auto">
              {bundle.description ?? t('tools.noDescription')}
            </span>
            {bundle.disabledReason ? <span className="small tone-warn words">{bundle.disabledReason}</span> : null}
          </div>
          <div className="side-info">
            <span className="tiny quiet number">
              {bundle.toolCount === undefined ? <When at={bundle.modifiedAt} /> : tn('bundle.tools', bundle.toolCount)}
            </span>
            <Switch
              label={t(bundle.isEnabled ? 'tools.turnOff' : 'tools.turnOn', { name: bundle.displayName })}
              isOn={bundle.isEnabled}
              onTurn={(isEnabled) => turn.mutate({ bundle, isEnabled })}
            />
          </div>
        </li>
      ))}
    </ul>
  );
}

function FoundBundles({ text }: { text: string }) {
  const all = useQuery(allBundles());
  const wanted = text.toLowerCase();
  const found = (all.data ?? []).filter((each) => `${each.slug} ${each.displayName}`.toLowerCase().includes(wanted));
  if (found.length === 0) return null;
  return (
    <Card title={t('bundle.found')} isPlain>
      <BundleRows bundles={found.slice(0, 20)} />
    </Card>
  );
}

function FoundTools({ text }: { text: string }) {
  const found = useInfiniteQuery(toolSearch(text, true));
  const tools = found.data?.pages.flatMap((page) => page.tools) ?? [];
  return (
    <Card isPlain>
      {found.isError ? <Trouble error={found.error} /> : null}
      {found.isLoading ? <Skeleton rows={5} /> : null}
      {found.data && tools.length === 0 ? (
        <Empty icon="search" title={t('tools.noneFound', { text })}>
          <p>{t('tools.noneFoundAbout')}</p>
        </Empty>
      ) : null}
      <ToolRows tools={tools} showBundle />
      <LoadMore pages={found} />
    </Card>
  );
}
