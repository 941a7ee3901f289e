import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { own } from '../../api/client.ts';
import { ApiError, messageOf } from '../../api/errors.ts';
import { ownQuery, queries } from '../../api/queries.ts';
import type { JsonSchema } from '../../api/shapes.ts';
import { Editor } from '../../editors/editor.tsx';
import { checkValue, type Problems } from '../../form/check-value.ts';
import { longIntegers, tooLong } from '../../form/long-integer.ts';
import { isObject } from '../../form/read-schema.ts';
import { ValueField } from '../../form/value-field.tsx';
import { useDraft } from '../../parts/draft.ts';
import { SearchField } from '../../parts/fields.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Card, Note, Page, Skeleton, Trouble } from '../../parts/page.tsx';
import { toast, toastError } from '../../parts/toasts.tsx';
import { t, type TextKey } from '../../texts/index.ts';

interface SettingsAnswer {
  settings: Record<string, unknown>;
  schema: Record<string, unknown>;
  problems: string[];
  machine_only: string[];
}

/** In the order in which people look for them. */
const sections = [
  'allowedHosts',
  'limits',
  'sandbox',
  'output',
  'code',
  'http',
  'aliases',
  'snippets',
  'stats',
  'retention',
  'docs',
  'providers',
  'fs',
  'notify',
  'servers',
  'agents',
] as const;

/** config.yaml as forms: one section at a time, checked here and again by the server, which keeps the file's comments. */
export function SettingsPage() {
  const answer = useQuery(ownQuery<SettingsAnswer>('settings_get'));
  const [text, setText] = useState('');
  const reload = (): void =>
    void own<{ ok: boolean; errors: string[] }>('settings_reload').then((report) => {
      toast(report.ok ? t('settings.reloaded') : report.errors.join('\n'), { tone: report.ok ? 'good' : 'bad' });
      return queries.invalidateQueries({ queryKey: ['settings'] });
    }, toastError);
  const shown = sections.filter((name) =>
    `${name} ${t(`settings.section.${name}`)}`.toLowerCase().includes(text.toLowerCase()),
  );
  return (
    <Page
      title={t('nav.settings')}
      about={t('settings.about')}
      actions={
        <button className="button" onClick={reload}>
          <Icon name="refresh" size={14} />
          {t('settings.reload')}
        </button>
      }
    >
      {answer.isError ? <Trouble error={answer.error} retry={() => void answer.refetch()} /> : null}
      {answer.isLoading ? (
        <Card isPlain>
          <Skeleton rows={8} />
        </Card>
      ) : null}
      {answer.data?.problems.map((problem) => (
        <Note key={problem} tone="bad">
          {problem}
        </Note>
      ))}
      {answer.data ? (
        <>
          <SearchField label={t('settings.search')} value={text} onText={setText} />
          {shown.map((name) => (
            <Section key={name} name={name} answer={answer.data} />
          ))}
        </>
      ) : null}
    </Page>
  );
}

function Section({ name, answer }: { name: (typeof sections)[number]; answer: SettingsAnswer }) {
  const current = answer.settings[name];
  const draft = useDraft<unknown>(`settings.${name}`, current);
  const schema = useMemo(() => openPart(answer, name), [answer, name]);
  const [problems, setProblems] = useState<Problems>({});
  const [refusal, setRefusal] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const isLocked = answer.machine_only.includes(name);
  /** What the form was filled with when somebody began to type: only what differs from that was changed here. */
  const [base, setBase] = useState(draft.isRestored ? { value: current } : undefined);
  const from = base ?? { value: current };
  const shown = base ? draft.value : current;
  const isChanged = !isSame(shown, current);
  const asJson = isMapOfObjects(schema);
  const [fillings, setFillings] = useState(0);
  const [isBroken, setBroken] = useState(false);
  const change = (next: unknown): void => {
    setBase(from);
    draft.change(next);
  };
  const fill = (next: unknown): void => {
    draft.clear(next);
    setBase(undefined);
    setBroken(false);
    setFillings((count) => count + 1);
  };

  const save = async (): Promise<void> => {
    setBusy(true);
    setRefusal(undefined);
    try {
      const wrong = await checkValue(schema, shown);
      setProblems(wrong);
      if (Object.keys(wrong).length === 0) {
        for (const { path, value } of changesOf(name, from.value, shown))
          await own('settings_set', { path, ...(value === undefined ? {} : { value }) });
        await queries.invalidateQueries({ queryKey: ['settings'] });
        const fresh = await queries.fetchQuery(ownQuery<SettingsAnswer>('settings_get'));
        fill(fresh.settings[name]);
        toast(t('settings.saved', { name }), { tone: 'good' });
      }
    } catch (error) {
      setRefusal(
        error instanceof ApiError && error.details.length > 0
          ? error.details.map((each) => `${each.path}: ${each.message}`).join('\n')
          : messageOf(error),
      );
    }
    setBusy(false);
  };
  return (
    <Card
      title={
        <div className="stack tight">
          <h2>{t(`settings.section.${name}`)}</h2>
          <span className="small quiet">{t(`settings.about.${name}` as TextKey)}</span>
        </div>
      }
      actions={
        isLocked ? (
          <span className="badge warn">{t('settings.locked')}</span>
        ) : isChanged ? (
          <span className="badge info">{t('settings.changed')}</span>
        ) : null
      }
    >
      {isLocked ? (
        <>
          <p className="small quiet">{t('settings.lockedAbout')}</p>
          <pre className="out" tabIndex={0}>
            {JSON.stringify(current, null, 2)}
          </pre>
        </>
      ) : (
        <>
          {asJson ? (
            <JsonSection
              key={`${fillings} ${JSON.stringify(from.value)}`}
              label={t(`settings.section.${name}`)}
              value={shown}
              isBroken={isBroken}
              onBroken={setBroken}
              onChange={change}
            />
          ) : (
            <div className="fields-grid">
              <ValueField
                schema={schema}
                root={schema}
                label={isObject(shown) ? '' : name}
                path=""
                value={shown}
                isRequired
                depth={0}
                problems={problems}
                onChange={change}
              />
            </div>
          )}
          {Object.entries(problems).map(([path, message]) => (
            <p key={path} className="problem">
              <code>{path}</code> {message}
            </p>
          ))}
          {refusal ? (
            <Note tone="bad">
              <span style={{ whiteSpace: 'pre-wrap' }}>{refusal}</span>
            </Note>
          ) : null}
          {isChanged || isBroken ? (
            <div className="row">
              <button className="button primary" disabled={isBusy || isBroken} onClick={() => void save()}>
                {t('common.save')}
              </button>
              <button className="button" onClick={() => (fill(current), setProblems({}), setRefusal(undefined))}>
                {t('settings.undo')}
              </button>
            </div>
          ) : null}
        </>
      )}
    </Card>
  );
}

/** The schema of a section without the values that only the machine itself may change. */
function openPart(answer: SettingsAnswer, name: string): JsonSchema {
  const whole = (answer.schema['properties'] as Record<string, JsonSchema>)[name] ?? {};
  if (!isObject(whole) || !isObject(whole['properties'])) return whole;
  const open = Object.entries(whole['properties']).filter(([key]) => !answer.machine_only.includes(`${name}.${key}`));
  const { additionalProperties: _strict, ...rest } = whole;
  return { ...rest, properties: Object.fromEntries(open) };
}

interface JsonSectionProps {
  label: string;
  value: unknown;
  isBroken: boolean;
  onBroken(isBroken: boolean): void;
  onChange(value: unknown): void;
}

/** Named entries with many fields (snippets, providers) are written as JSON; broken text waits until it is whole. */
function JsonSection({ label, value, isBroken, onBroken, onChange }: JsonSectionProps) {
  const [text, setText] = useState(() => JSON.stringify(value ?? {}, null, 2));
  const [long] = longIntegers(text);
  return (
    <>
      <Editor
        label={label}
        language="json"
        value={text}
        hasProblem={isBroken}
        onChange={(next) => {
          setText(next);
          try {
            const parsed: unknown = JSON.parse(next);
            const isWhole = longIntegers(next).length === 0;
            if (isWhole) onChange(parsed);
            onBroken(!isWhole);
          } catch {
            onBroken(true);
          }
        }}
      />
      {isBroken ? (
        <p className="problem" role="alert">
          {long ? tooLong(long.digits) : t('form.notJson')}
        </p>
      ) : null}
    </>
  );
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

const isMapOfObjects = (schema: JsonSchema): boolean => {
  const values = isObject(schema) ? Object.values((schema['patternProperties'] as object | undefined) ?? {}) : [];
  return values.some((each) => isObject(each) && ('properties' in each || 'anyOf' in each));
};

/** The single values that differ: each is set for itself, so that what is locked beside it is never touched. */
export function changesOf(name: string, before: unknown, after: unknown): { path: string[]; value: unknown }[] {
  if (!isObject(before) || !isObject(after)) return [{ path: [name], value: after }];
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys]
    .filter((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key]))
    .map((key) => ({ path: [name, key], value: after[key] }));
}
