import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { lazy, Suspense, useMemo, useState } from 'react';
import { request } from '../../api/client.ts';
import { messageOf, type Detail } from '../../api/errors.ts';
import { allBundles, enabledTools, oneTool, ownQuery, toolPath } from '../../api/queries.ts';
import type { ToolView } from '../../api/shapes.ts';
import { Diff, Editor } from '../../editors/editor.tsx';
import { useDraft } from '../../parts/draft.ts';
import { AreaField, SelectField, Segmented, TextField } from '../../parts/fields.tsx';
import { Card, Note, Page, Skeleton, Trouble } from '../../parts/page.tsx';
import { toast } from '../../parts/toasts.tsx';
import { t } from '../../texts/index.ts';
import { bodyFrom, detailsOf, draftFrom, emptyDraft, limitNames, problemAt, type ToolDraft } from './editor-state.ts';
import { HttpForm } from './http-form.tsx';
import { refresh } from './switches.ts';
import type { Origins } from './placeholders.ts';
import { bodyOf, nextVersion, slugOf } from './tool-body.ts';

const SchemaEditor = lazy(() => import('../../editors/schema-editor.tsx'));

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
  const origins = useOrigins(value.argSchema);
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
      <form className="stack loose" onSubmit={save} noValidate>
        <Card title={t('tool.basics')}>
          <div className="grid-3">
            <TextField
              label={t('tool.name')}
              value={value.displayName}
              required
              problem={problemAt(details, '/displayName')}
              onText={(displayName) => set({ displayName })}
            />
            <TextField
              label={t('tool.slug')}
              hint={t('tool.slugHint')}
              className="mono"
              value={value.slug}
              placeholder={slugOf(value.displayName)}
              disabled={before !== undefined}
              problem={problemAt(details, '/slug')}
              onText={(slug) => set({ slug })}
            />
            <TextField
              label={t('tool.version')}
              className="mono"
              value={value.version}
              required
              problem={problemAt(details, '/version')}
              onText={(version) => set({ version })}
            />
          </div>
          <AreaField
            label={t('common.description')}
            hint={t('tool.descriptionHint')}
            value={value.description}
            rows={2}
            problem={problemAt(details, '/description')}
            onText={(description) => set({ description })}
          />
          <div className="grid-2">
            <TextField
              label={t('tool.tags')}
              hint={t('tool.tagsHint')}
              value={value.tags}
              problem={problemAt(details, '/tags')}
              onText={(tags) => set({ tags })}
            />
            <SelectField
              label={t('tool.access')}
              hint={t('tool.accessHint')}
              value={value.access}
              problem={problemAt(details, '/access')}
              options={[
                ['', t('tool.accessDefault')],
                ['read', 'read'],
                ['write', 'write'],
                ['admin', 'admin'],
              ]}
              onText={(access) => set({ access })}
            />
          </div>
        </Card>
        <Card
          title={t('tool.whatRuns')}
          actions={
            <Segmented
              label={t('tool.type')}
              value={value.type}
              onPick={(type) => set({ type })}
              options={[
                ['http', t('tool.typeHttp')],
                ['function', t('tool.typeFunction')],
                ['script', t('tool.typeScript')],
              ]}
            />
          }
        >
          {value.type === 'http' ? (
            <HttpForm
              http={value.http}
              origins={origins}
              details={details}
              onChange={(change) => set({ http: { ...value.http, ...change } })}
            />
          ) : null}
          {value.type === 'function' ? (
            <FunctionForm func={value.func} details={details} onChange={(func) => set({ func })} />
          ) : null}
          {value.type === 'script' ? (
            <ScriptForm code={value.code} details={details} onChange={(code) => set({ code })} />
          ) : null}
        </Card>
        <Card title={t('tool.schemas')}>
          <p className="small quiet">{t('tool.schemasAbout')}</p>
          <SchemaPart
            label={t('tool.argSchema')}
            path="/argSchema"
            value={value.argSchema}
            details={details}
            onChange={(argSchema) => set({ argSchema })}
          />
          <SchemaPart
            label={t('tool.outputSchema')}
            path="/outputSchema"
            value={value.outputSchema}
            details={details}
            onChange={(outputSchema) => set({ outputSchema })}
          />
          <details className="fold">
            <summary>{t('tool.limits')}</summary>
            <div className="grid-3" style={{ paddingTop: 10 }}>
              {limitNames.map((limit) => (
                <TextField
                  key={limit}
                  label={t(`limit.${limit}`)}
                  inputMode="numeric"
                  value={value.limits[limit] ?? ''}
                  problem={problemAt(details, `/limits/${limit}`)}
                  onText={(text) => set({ limits: { ...value.limits, [limit]: text } })}
                />
              ))}
            </div>
          </details>
        </Card>
        {before ? <Changes before={before} draft={value} /> : null}
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

function useOrigins(argSchema: string): Origins {
  const secrets = useQuery({ ...ownQuery<{ secrets: { name: string }[] }>('secret_list'), retry: false });
  return useMemo(() => {
    let names: string[] = [];
    try {
      names = Object.keys((JSON.parse(argSchema) as { properties?: object }).properties ?? {});
    } catch {
      names = [...argSchema.matchAll(/"(\w+)"\s*:\s*\{/g)].map((match) => match[1] ?? '');
    }
    return { args: new Set(names), secrets: new Set((secrets.data?.secrets ?? []).map((each) => each.name)) };
  }, [argSchema, secrets.data]);
}

function SchemaPart({
  label,
  path,
  value,
  details,
  onChange,
}: {
  label: string;
  path: string;
  value: string;
  details: Detail[];
  onChange(text: string): void;
}) {
  const refused = useMemo(
    () =>
      details
        .filter((each) => each.path === path || each.path.startsWith(`${path}/`))
        .map((each) => ({ ...each, path: each.path.slice(path.length) })),
    [details, path],
  );
  return (
    <div className="field">
      <span className="label">{label}</span>
      <Suspense fallback={<div className="editor skeleton" style={{ minHeight: 150 }} />}>
        <SchemaEditor label={label} value={value} onChange={onChange} refused={refused} />
      </Suspense>
      {refused.map((each) => (
        <span key={each.path} className="problem" role="alert">
          {each.path ? <code>{each.path}</code> : null} {each.message}
        </span>
      ))}
    </div>
  );
}

function FunctionForm({ func, details, onChange }: { func: string; details: Detail[]; onChange(func: string): void }) {
  const tools = useQuery(enabledTools());
  const names = [
    ...new Set((tools.data ?? []).flatMap((tool) => (tool.functionImpl ? [tool.functionImpl.func] : []))),
  ].sort();
  return (
    <>
      <TextField
        label={t('function.name')}
        hint={t('function.hint')}
        className="mono"
        list="known-functions"
        value={func}
        required
        problem={problemAt(details, '/functionImpl')}
        onText={onChange}
      />
      <datalist id="known-functions">
        {names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </>
  );
}

function ScriptForm({ code, details, onChange }: { code: string; details: Detail[]; onChange(code: string): void }) {
  const problem = problemAt(details, '/scriptImpl');
  return (
    <div className="field">
      <span className="label">{t('script.code')}</span>
      <Editor
        label={t('script.code')}
        language="python"
        value={code}
        onChange={onChange}
        minHeight={180}
        hasProblem={problem !== undefined}
      />
      {problem ? (
        <span className="problem" role="alert">
          {problem}
        </span>
      ) : null}
      <span className="hint small quiet">{t('script.hint')}</span>
    </div>
  );
}

function Changes({ before, draft }: { before: ToolView; draft: ToolDraft }) {
  const after = useMemo(() => {
    try {
      return JSON.stringify(bodyFrom(draft), null, 2);
    } catch {
      return undefined;
    }
  }, [draft]);
  const old = JSON.stringify({ ...bodyOf(before), isEnabled: draft.isEnabled }, null, 2);
  return (
    <Card title={t('tool.changes', { version: before.version })}>
      {after === undefined ? (
        <p className="quiet small">{t('tool.changesLater')}</p>
      ) : after === old ? (
        <p className="quiet small">{t('tool.changesNone')}</p>
      ) : (
        <Diff before={old} after={after} label={t('tool.changes', { version: before.version })} />
      )}
    </Card>
  );
}
