import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { Detail } from '../../api/errors.ts';
import { allBundles, enabledTools, ownQuery } from '../../api/queries.ts';
import { Editor } from '../../editors/editor.tsx';
import { Segmented, TextField } from '../../parts/fields.tsx';
import { Card } from '../../parts/page.tsx';
import { t } from '../../texts/index.ts';
import { problemAt, type EditorCardProps } from './editor-state.ts';
import { HttpForm } from './http-form.tsx';
import type { Origins } from './placeholders.ts';

/** What runs when the tool is called: a request, a function or a program. */
export function WhatRunsCard({ value, details, set }: EditorCardProps) {
  const origins = useOrigins(value.argSchema);
  return (
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

function FunctionForm({ func, details, onChange }: { func: string; details: Detail[]; onChange(func: string): void }) {
  const provided = (useQuery(allBundles()).data ?? []).filter(
    (each) => each.kind === 'builtin' || each.kind === 'pack',
  );
  const tools = useQuery(enabledTools(provided.map((each) => each.id)));
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
