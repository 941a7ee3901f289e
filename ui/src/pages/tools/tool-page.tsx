import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { Tabs } from 'radix-ui';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { allBundles, oneTool, toolPath } from '../../api/queries.ts';
import type { ToolView } from '../../api/shapes.ts';
import { Editor } from '../../editors/editor.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { CopyButton } from '../../parts/copy.tsx';
import { Switch } from '../../parts/fields.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Menu } from '../../parts/menu.tsx';
import { Card, Note, Page, Skeleton, Trouble } from '../../parts/page.tsx';
import { toast, toastError } from '../../parts/toasts.tsx';
import { When } from '../../parts/when.tsx';
import { t, tn } from '../../texts/index.ts';
import { refresh, useToolSwitch } from './switches.ts';
import { Tester } from './tester.tsx';
import { bodyOf } from './tool-body.ts';
import { TypeBadge, UsageLine } from './tool-rows.tsx';
import { Versions } from './versions.tsx';

export function ToolPage() {
  const { bundleID, slug, version } = useParams({ strict: false }) as {
    bundleID: string;
    slug: string;
    version: string;
  };
  const tool = useQuery(oneTool(bundleID, slug, version));
  if (tool.data) return <OneTool key={tool.data.id} tool={tool.data} />;
  return (
    <Page title={slug} crumbs={<Link to="/tools">{t('nav.tools')}</Link>}>
      <Card isPlain>
        {tool.isError ? <Trouble error={tool.error} retry={() => void tool.refetch()} /> : <Skeleton rows={6} />}
      </Card>
    </Page>
  );
}

function OneTool({ tool }: { tool: ToolView }) {
  const bundle = useQuery(allBundles()).data?.find((each) => each.id === tool.bundleID);
  const turn = useToolSwitch();
  const navigate = useNavigate();
  const [isDeleting, setDeleting] = useState(false);
  const isOwn = bundle?.kind === 'stored' || (!bundle && !tool.isBuiltIn && tool.type !== 'mcp');
  const params = { bundleID: tool.bundleID, slug: tool.slug, version: tool.version };
  return (
    <Page
      isWide
      title={tool.displayName}
      about={<span dir="auto">{tool.description}</span>}
      crumbs={
        <>
          <Link to="/tools">{t('nav.tools')}</Link>
          <span>/</span>
          <Link to="/tools/$bundleID" params={{ bundleID: tool.bundleID }}>
            {tool.bundleSlug}
          </Link>
          <span>/</span>
          <code>{tool.name}</code>
        </>
      }
      badges={
        <>
          <span className="badge version" title={tool.version}>
            {tool.version}
          </span>
          <TypeBadge type={tool.type} />
          {(tool.tags ?? []).map((tag) => (
            <span key={tag} className="tag cut" title={tag}>
              #{tag}
            </span>
          ))}
        </>
      }
      actions={
        <>
          <span className="row">
            <span className="small quiet">{tool.isEnabled ? t('common.on') : t('common.off')}</span>
            <Switch
              label={t(tool.isEnabled ? 'tools.turnOff' : 'tools.turnOn', { name: tool.displayName })}
              isOn={tool.isEnabled}
              isDisabled={bundle?.isEnabled === false}
              onTurn={(isEnabled) => turn.mutate({ tool, isEnabled })}
            />
          </span>
          {isOwn ? (
            <>
              <button
                className="button"
                onClick={() => void navigate({ to: '/tools/$bundleID/$slug/$version/edit', params })}
              >
                <Icon name="edit" size={14} />
                {t('tool.edit')}
              </button>
              <Menu
                entries={[{ label: t('tool.delete'), icon: 'trash', isDanger: true, run: () => setDeleting(true) }]}
              />
            </>
          ) : null}
        </>
      }
    >
      {tool.disabledReason ? <Note tone="warn">{tool.disabledReason}</Note> : null}
      {bundle?.isEnabled === false ? <Note tone="warn">{t('bundle.offNote')}</Note> : null}
      <Tabs.Root defaultValue="try" className="stack">
        <Tabs.List className="tabs" aria-label={t('tool.views')}>
          <Tabs.Trigger value="try" className="tab">
            {t('tool.try')}
          </Tabs.Trigger>
          <Tabs.Trigger value="definition" className="tab">
            {t('tool.definition')}
          </Tabs.Trigger>
          <Tabs.Trigger value="versions" className="tab">
            {t('tool.versions')}
          </Tabs.Trigger>
        </Tabs.List>
        <Tabs.Content value="try">
          <Tester tool={tool} isOwn={isOwn} />
        </Tabs.Content>
        <Tabs.Content value="definition">
          <Definition tool={tool} />
        </Tabs.Content>
        <Tabs.Content value="versions">
          <Versions tool={tool} />
        </Tabs.Content>
      </Tabs.Root>
      {isDeleting ? <DeleteTool tool={tool} onClose={() => setDeleting(false)} /> : null}
    </Page>
  );
}

function Definition({ tool }: { tool: ToolView }) {
  const body = JSON.stringify(bodyOf(tool), null, 2);
  return (
    <div className="columns side-right">
      <Card title={t('tool.definition')} actions={<CopyButton text={body} />}>
        <Editor label={t('tool.definition')} language="json" value={body} isReadOnly />
      </Card>
      <Card title={t('tool.facts')}>
        <dl className="facts">
          <dt>{t('tool.callName')}</dt>
          <dd>
            <code>{tool.name}</code>
          </dd>
          <dt>{t('tool.level')}</dt>
          <dd>{tool.level}</dd>
          <dt>{t('tool.usage')}</dt>
          <dd>
            <UsageLine tool={tool} />
          </dd>
          <dt>{t('tool.made')}</dt>
          <dd>
            <When at={tool.createdAt} />
          </dd>
          {tool.returns ? (
            <>
              <dt>{t('tool.returns')}</dt>
              <dd>{tool.returns}</dd>
            </>
          ) : null}
          {tool.example ? (
            <>
              <dt>{t('tool.example')}</dt>
              <dd>
                <code>{tool.example}</code>
              </dd>
            </>
          ) : null}
          <dt>id</dt>
          <dd>
            <code className="tiny">{tool.id}</code>
          </dd>
        </dl>
      </Card>
    </div>
  );
}

function DeleteTool({ tool, onClose }: { tool: ToolView; onClose(): void }) {
  const navigate = useNavigate();
  const path = toolPath(tool.bundleID, tool.slug, tool.version);
  const run = async (): Promise<void> => {
    await request('DELETE', path);
    refresh();
    void navigate({ to: '/tools/$bundleID', params: { bundleID: tool.bundleID } });
    toast(t('tool.deleted', { name: `${tool.displayName} ${tool.version}` }), {
      action: {
        label: t('common.undo'),
        run: () => void request('PUT', path, { body: bodyOf(tool) }).then(refresh, toastError),
      },
    });
  };
  return (
    <Confirm
      title={t('tool.deleteTitle', { name: tool.displayName, version: tool.version })}
      action={t('tool.delete')}
      run={run}
      onClose={onClose}
    >
      <p>{t('tool.deleteAbout', { name: tool.name, calls: tn('tools.calls', tool.usage.callCount) })}</p>
    </Confirm>
  );
}
