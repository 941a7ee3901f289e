import { lazy, Suspense, useMemo } from 'react';
import type { Detail } from '../../api/errors.ts';
import { TextField } from '../../parts/fields.tsx';
import { Card } from '../../parts/page.tsx';
import { t } from '../../texts/index.ts';
import { limitNames, problemAt, type EditorCardProps } from './editor-state.ts';

const SchemaEditor = lazy(() => import('../../editors/schema-editor.tsx'));

/** What a tool takes and gives, and how much of it. */
export function SchemasCard({ value, details, set }: EditorCardProps) {
  return (
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
  );
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
