import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useDeferredValue, useState } from 'react';
import { allBundles, toolSearch, toolsPaged } from '../../api/queries.ts';
import type { Bundle } from '../../api/shapes.ts';
import { SearchField, Switch } from '../../parts/fields.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Menu } from '../../parts/menu.tsx';
import { LoadMore } from '../../parts/load-more.tsx';
import { Card, Empty, Note, Page, Skeleton, Trouble } from '../../parts/page.tsx';
import { toastError } from '../../parts/toasts.tsx';
import { t } from '../../texts/index.ts';
import { BundleDialog } from './bundle-dialog.tsx';
import { DeleteBundle } from './delete-bundle.tsx';
import { exportBundle } from './transfer.ts';
import { useBundleSwitch } from './switches.ts';
import { ToolRows } from './tool-rows.tsx';

export function BundlePage() {
  const { bundleID } = useParams({ strict: false }) as { bundleID: string };
  const bundles = useQuery(allBundles());
  const bundle = bundles.data?.find((each) => each.id === bundleID);
  const crumbs = <Link to="/tools">{t('nav.tools')}</Link>;
  if (!bundle)
    return (
      <Page title={bundles.isLoading ? '…' : t('bundle.gone')} crumbs={crumbs}>
        <Card isPlain>
          {bundles.isError ? <Trouble error={bundles.error} retry={() => void bundles.refetch()} /> : null}
          {bundles.isLoading ? <Skeleton rows={6} /> : null}
          {bundles.data ? (
            <Empty icon="box" title={t('bundle.gone')}>
              <p>{t('bundle.goneAbout')}</p>
            </Empty>
          ) : null}
        </Card>
      </Page>
    );
  return <OneBundle bundle={bundle} />;
}

function OneBundle({ bundle }: { bundle: Bundle }) {
  const turn = useBundleSwitch();
  const navigate = useNavigate();
  const [dialog, setDialog] = useState<'edit' | 'delete'>();
  const isOwn = bundle.kind === 'stored';
  return (
    <Page
      title={bundle.displayName}
      about={bundle.description}
      crumbs={
        <>
          <Link to="/tools">{t('nav.tools')}</Link>
          <span>/</span>
          <code>{bundle.slug}</code>
        </>
      }
      badges={isOwn ? null : <span className="badge">{t(`bundle.kind.${bundle.kind}`)}</span>}
      actions={
        <>
          <span className="row">
            <span className="small quiet">{bundle.isEnabled ? t('common.on') : t('common.off')}</span>
            <Switch
              label={t(bundle.isEnabled ? 'tools.turnOff' : 'tools.turnOn', { name: bundle.displayName })}
              isOn={bundle.isEnabled}
              onTurn={(isEnabled) => turn.mutate({ bundle, isEnabled })}
            />
          </span>
          {isOwn ? (
            <>
              <button
                className="button primary"
                disabled={!bundle.isEnabled}
                onClick={() => void navigate({ to: '/tools/$bundleID/new', params: { bundleID: bundle.id } })}
              >
                <Icon name="plus" size={14} />
                {t('tool.new')}
              </button>
              <Menu
                entries={[
                  { label: t('bundle.edit'), icon: 'edit', run: () => setDialog('edit') },
                  {
                    label: t('bundle.export'),
                    icon: 'download',
                    run: () => void exportBundle(bundle).catch(toastError),
                  },
                  null,
                  { label: t('bundle.delete'), icon: 'trash', isDanger: true, run: () => setDialog('delete') },
                ]}
              />
            </>
          ) : null}
        </>
      }
    >
      {bundle.isEnabled ? null : <Note tone="warn">{t('bundle.offNote')}</Note>}
      {isOwn ? null : <Note>{t(`bundle.note.${bundle.kind}`)}</Note>}
      <Tools bundle={bundle} />
      {dialog === 'edit' ? <BundleDialog bundle={bundle} onClose={() => setDialog(undefined)} /> : null}
      {dialog === 'delete' ? <DeleteBundle bundle={bundle} onClose={() => setDialog(undefined)} /> : null}
    </Page>
  );
}

function Tools({ bundle }: { bundle: Bundle }) {
  const search = useSearch({ strict: false }) as { q?: string };
  const navigate = useNavigate();
  const text = search.q ?? '';
  const wanted = useDeferredValue(text.trim());
  const list = useInfiniteQuery({ ...toolsPaged({ bundleIDs: bundle.id }), enabled: wanted === '' });
  // The slug among the words keeps the tools of other bundles off the pages of the answer.
  const found = useInfiniteQuery(toolSearch(wanted === '' ? '' : `${bundle.slug} ${wanted}`, true, 256));
  const current = wanted === '' ? list : found;
  const tools = (current.data?.pages ?? []).flatMap((page) => page.tools).filter((tool) => tool.bundleID === bundle.id);
  return (
    <Card
      isPlain
      title={
        <div className="grow">
          <SearchField
            label={t('tools.searchBundle')}
            value={text}
            onText={(q) =>
              void navigate({
                to: '/tools/$bundleID',
                params: { bundleID: bundle.id },
                search: q ? { q } : {},
                replace: true,
              })
            }
          />
        </div>
      }
    >
      {current.isError ? <Trouble error={current.error} retry={() => void current.refetch()} /> : null}
      {current.isLoading ? <Skeleton rows={5} /> : null}
      {current.data && tools.length === 0 ? (
        <Empty icon="tools" title={wanted ? t('tools.noneFound', { text: wanted }) : t('tools.noneTitle')}>
          <p>
            {wanted
              ? t('tools.noneFoundAbout')
              : bundle.kind === 'stored'
                ? t('tools.noneAbout')
                : t('tools.noneProvided')}
          </p>
        </Empty>
      ) : null}
      <ToolRows tools={tools} isBundleOn={bundle.isEnabled} />
      <LoadMore pages={current} />
    </Card>
  );
}
