import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useEffect, useMemo, useRef, useState } from 'react';
import { request } from '../../api/client.ts';
import { messageOf } from '../../api/errors.ts';
import { allBundles, oneTool, toolPath } from '../../api/queries.ts';
import type { ToolView } from '../../api/shapes.ts';
import { showProblem } from '../../form/schema-form.tsx';
import { useDraft } from '../../parts/draft.ts';
import { Card, Note, Page, Skeleton, Trouble } from '../../parts/page.tsx';
import { toast } from '../../parts/toasts.tsx';
import { t } from '../../texts/index.ts';
import { BasicsCard } from './basics-card.tsx';
import { bodyFrom, detailsOf, draftFrom, emptyDraft, type ToolDraft } from './editor-state.ts';
import { SchemasCard } from './schemas-card.tsx';
import { refresh } from './switches.ts';
import { nextVersion, slugOf } from './tool-body.ts';
import { VersionChanges } from './version-changes.tsx';
import { WhatRunsCard } from './what-runs-card.tsx';

export function NewToolPage() {
  const { bundleID } = useParams({ strict: false }) as { bundleID: string };
  return <ToolEditor bundleID={bundleID} name={`tool.new.${bundleID}`} first={emptyDraft} />;
}

export function EditToolPage() {
  const { bundleID, slug, version } = useParams({ strict: false }) as {
    bundleID: string;
    slug: string;
    version: string;
  };
  const tool = useQuery(oneTool(bundleID, slug, version));
  if (!tool.data)
    return (
      <Page title={slug}>
        <Card isPlain>{tool.isError ? <Trouble error={tool.error} /> : <Skeleton rows={6} />}</Card>
      </Page>
    );
  return (
    <ToolEditor
      bundleID={bundleID}
      name={`tool.${tool.data.id}`}
      first={draftFrom(tool.data, nextVersion(version))}
      before={tool.data}
    />
  );
}

interface EditorProps {
  bundleID: string;
  /** Names the draft in this browser. */
  name: string;
  first: ToolDraft;
  before?: ToolView;
}

/** The form of a tool. Stored versions never change: saving an edited one stores a new version and shows the difference first. */
function ToolEditor({ bundleID, name, first, before }: EditorProps) {
  const draft = useDraft<ToolDraft>(name, first);
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const navigate = useNavigate();
  const bundle = useQuery(allBundles()).data?.find((each) => each.id === bundleID);
  const value = draft.value;
  const details = useMemo(() => detailsOf(error), [error]);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (form.current && details.length > 0) showProblem(form.current);
  }, [details]);
  const set = (change: Partial<ToolDraft>): void => draft.change((current) => ({ ...current, ...change }));

  const save = async (event: React.FormEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      const slug = value.slug || slugOf(value.displayName);
      const stored = await request<ToolView>('PUT', toolPath(bundleID, slug, value.version), { body: bodyFrom(value) });
      draft.clear(first);
      refresh();
      toast(t('tool.saved', { name: stored.displayName, version: stored.version }), { tone: 'good' });
      void navigate({
        to: '/tools/$bundleID/$slug/$version',
        params: { bundleID, slug: stored.slug, version: stored.version },
      });
    } catch (problem) {
      setError(problem);
    }
    setBusy(false);
  };
  return (
    <Page
      title={before ? t('tool.editTitle', { name: before.displayName }) : t('tool.new')}
      about={before ? t('tool.editAbout', { version: before.version }) : t('tool.newAbout')}
      crumbs={
        <>
          <Link to="/tools">{t('nav.tools')}</Link>
          <span>/</span>
          <Link to="/tools/$bundleID" params={{ bundleID }}>
            {bundle?.slug ?? '…'}
          </Link>
        </>
      }
    >
      {draft.isRestored ? (
        <Note tone="info">
          <span className="row wrap">
            {t('common.draftRestored')}
            <button className="button compact" onClick={() => draft.clear(first)}>
              {t('common.discardDraft')}
            </button>
          </span>
        </Note>
      ) : null}
      {draft.isElsewhere ? <Note tone="warn">{t('common.otherTab')}</Note> : null}
      <form ref={form} className="stack loose" onSubmit={save} noValidate>
        <BasicsCard value={value} details={details} set={set} isNew={before === undefined} />
        <WhatRunsCard value={value} details={details} set={set} />
        <SchemasCard value={value} details={details} set={set} />
        {before ? <VersionChanges before={before} draft={value} /> : null}
        {error ? <Note tone="bad">{messageOf(error)}</Note> : null}
        <div className="row wrap">
          <button className="button primary" disabled={isBusy}>
            {before ? t('tool.saveVersion', { version: value.version }) : t('tool.save')}
          </button>
          <button type="button" className="button" onClick={() => history.back()}>
            {t('common.cancel')}
          </button>
          <span className="small faint">{t('common.draftKept')}</span>
        </div>
      </form>
    </Page>
  );
}
