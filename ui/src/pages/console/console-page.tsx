import { useQuery } from '@tanstack/react-query';
import { useMemo, useRef, useState } from 'react';
import { callTool, type Answer } from '../../api/client.ts';
import { messageOf } from '../../api/errors.ts';
import { allBundles, enabledTools, ownQuery, queries } from '../../api/queries.ts';
import type { Bundle } from '../../api/shapes.ts';
import { Editor } from '../../editors/editor.tsx';
import { useDraft } from '../../parts/draft.ts';
import { Icon } from '../../parts/icon.tsx';
import { recall, remember } from '../../parts/memory.ts';
import { bytes, count, duration, roughTokens } from '../../parts/numbers.ts';
import { Output } from '../../parts/output.tsx';
import { Card, Empty, Note, Page, Skeleton } from '../../parts/page.tsx';
import { When } from '../../parts/when.tsx';
import { t } from '../../texts/index.ts';
import { CallList } from './call-list.tsx';
import { completeProgram } from './complete.ts';
import { PromoteDialog } from './promote-dialog.tsx';
import { handlesIn, ResultBrowser } from './result-browser.tsx';

interface Run {
  at: string;
  code: string;
  ms: number;
  ok: boolean;
  text: string;
}

const keptRuns = 15;
const shownPacks = 80;
const example = `colours = [demo.foo(text=word) for word in ["one", "two", "three"]]\nprint(len(colours), "calls")\ncolours`;

/** Code mode by hand: write a program over every tool there is, run it, look at its calls and stored results. */
export function ConsolePage() {
  const draft = useDraft('console', example);
  const bundles = useQuery(allBundles()).data;
  const packs = useMemo(
    () => (bundles ?? []).filter((each) => each.isEnabled).sort((a, b) => a.slug.localeCompare(b.slug)),
    [bundles],
  );
  const complete = useMemo(
    () => completeProgram(packs, (id) => queries.fetchQuery(enabledTools([id])).catch(() => [])),
    [packs],
  );
  const [answer, setAnswer] = useState<{ value: Answer<unknown>; ms: number; startedAt: string }>();
  const [problem, setProblem] = useState<string>();
  const [isRunning, setRunning] = useState(false);
  const [isPromoting, setPromoting] = useState(false);
  const [runs, setRuns] = useState<Run[]>(() => recall('console-runs') ?? []);
  const abort = useRef<AbortController>(undefined);

  const run = async (): Promise<void> => {
    if (isRunning || draft.value.trim() === '') return;
    abort.current = new AbortController();
    setRunning(true);
    setProblem(undefined);
    const startedAt = new Date().toISOString();
    const start = performance.now();
    try {
      const value = await callTool('run', { code: draft.value }, abort.current.signal);
      const ms = performance.now() - start;
      setAnswer({ value, ms, startedAt });
      const text = value.ok ? textOf(value.value) : value.error.message;
      const kept = [{ at: startedAt, code: draft.value, ms, ok: value.ok, text: text.slice(0, 2_000) }, ...runs].slice(
        0,
        keptRuns,
      );
      setRuns(kept);
      remember('console-runs', kept);
      void queries.invalidateQueries({ queryKey: ['stats'] });
    } catch (error) {
      setAnswer(undefined);
      setProblem(abort.current.signal.aborted ? t('console.cancelled') : messageOf(error));
    }
    setRunning(false);
  };
  const text = answer ? (answer.value.ok ? textOf(answer.value.value) : answer.value.error.message) : '';
  const handles = handlesIn(text);
  return (
    <Page
      title={t('nav.console')}
      about={t('console.about')}
      isWide
      actions={
        <>
          <button className="button" onClick={() => setPromoting(true)} disabled={draft.value.trim() === ''}>
            {t('console.promote')}
          </button>
          {isRunning ? (
            <button className="button" onClick={() => abort.current?.abort()}>
              <Icon name="stop" size={13} />
              {t('tester.cancel')}
            </button>
          ) : (
            <button className="button primary" onClick={() => void run()}>
              <Icon name="play" size={13} />
              {t('tester.run')} <kbd>Ctrl ↵</kbd>
            </button>
          )}
        </>
      }
    >
      <div className="columns side-right">
        <div className="stack">
          <Editor
            label={t('console.program')}
            language="python"
            value={draft.value}
            onChange={draft.change}
            onRun={() => void run()}
            complete={complete}
            minHeight={220}
          />
          <Card
            title={t('console.output')}
            actions={
              // There before anything is in it: only then is what comes into it read out.
              <div className="meter" role="status">
                {answer && !isRunning ? (
                  <>
                    <span className={`badge ${answer.value.ok ? 'good' : 'bad'}`}>
                      {answer.value.ok ? t('tester.ok') : answer.value.error.code}
                    </span>
                    <span className="number">{duration(answer.ms)}</span>
                    <span className="number">{bytes(new Blob([text]).size)}</span>
                    <span className="number">≈ {t('tester.tokens', { count: count(roughTokens(text)) })}</span>
                  </>
                ) : null}
              </div>
            }
          >
            {isRunning ? <Skeleton rows={3} height={16} /> : null}
            {problem ? <Note tone="bad">{problem}</Note> : null}
            {!isRunning && !answer && !problem ? (
              <Empty icon="console" title={t('console.emptyTitle')}>
                <p>{t('console.emptyAbout')}</p>
              </Empty>
            ) : null}
            {!isRunning && answer ? (
              answer.value.ok ? (
                <Output value={text} name="run" />
              ) : (
                <pre className="out tone-bad" tabIndex={0} role="alert">
                  {text}
                </pre>
              )
            ) : null}
          </Card>
          {handles.map((handle) => (
            <ResultBrowser key={handle} handle={handle} />
          ))}
          {answer ? <CallList since={answer.startedAt} ms={answer.ms} /> : null}
        </div>
        <div className="stack">
          <AtHand
            packs={packs}
            onInsert={(snippet) =>
              draft.change((before) => (before.trim() === '' ? snippet : `${before.replace(/\n*$/, '')}\n${snippet}`))
            }
          />
          {runs.length > 0 ? (
            <Card title={t('tester.history')} isPlain>
              <ul className="rows">
                {runs.map((each) => (
                  <li key={each.at} className="row small" style={{ padding: '5px 14px' }}>
                    <span className={`dot ${each.ok ? 'good' : 'bad'}`} />
                    <button
                      className="button bare compact grow cut"
                      style={{ justifyContent: 'flex-start' }}
                      onClick={() => draft.change(each.code)}
                      title={each.code}
                    >
                      <code className="cut">{each.code.split('\n')[0]}</code>
                    </button>
                    <span className="tiny faint">
                      <When at={each.at} />
                    </span>
                  </li>
                ))}
              </ul>
            </Card>
          ) : null}
        </div>
      </div>
      {isPromoting ? <PromoteDialog code={draft.value} onClose={() => setPromoting(false)} /> : null}
    </Page>
  );
}

interface Hand {
  settings: {
    aliases: Record<string, string>;
    snippets: Record<
      string,
      { description?: string; params?: Record<string, { default?: unknown; example?: unknown } | null> }
    >;
  };
}

/** Snippets, aliases and packs: one click puts them into the program. */
function AtHand({ packs, onInsert }: { packs: Bundle[]; onInsert(text: string): void }) {
  const settings = useQuery({ ...ownQuery<Hand>('settings_get'), retry: false });
  const { aliases = {}, snippets = {} } = settings.data?.settings ?? {};
  return (
    <Card title={t('console.atHand')}>
      {settings.isError ? null : (
        <>
          <section className="stack tight">
            <h3 className="small">{t('console.snippets')}</h3>
            {Object.keys(snippets).length === 0 ? <p className="small faint">{t('console.noSnippets')}</p> : null}
            {Object.entries(snippets).map(([name, snippet]) => (
              <button
                key={name}
                className="button bare compact"
                style={{ justifyContent: 'flex-start' }}
                title={snippet.description}
                onClick={() => onInsert(`$${name} ${paramsOf(snippet.params)}`.trim())}
              >
                <code>${name}</code> <span className="cut faint">{snippet.description}</span>
              </button>
            ))}
          </section>
          <section className="stack tight">
            <h3 className="small">{t('console.aliases')}</h3>
            {Object.keys(aliases).length === 0 ? <p className="small faint">{t('console.noAliases')}</p> : null}
            {Object.entries(aliases).map(([name, target]) => (
              <button
                key={name}
                className="button bare compact"
                style={{ justifyContent: 'flex-start' }}
                onClick={() => onInsert(`${name}()`)}
              >
                <code>{name}</code> <span className="cut faint">→ {target}</span>
              </button>
            ))}
          </section>
        </>
      )}
      <section className="stack tight">
        <h3 className="small">{t('console.packs')}</h3>
        <div className="row wrap">
          {packs.slice(0, shownPacks).map(({ slug, toolCount }) => (
            <button
              key={slug}
              className="badge"
              style={{ border: 0 }}
              onClick={() => onInsert(`ot.help(query="${slug}")`)}
              title={t('console.packHelp', { name: slug, count: toolCount ?? 0 })}
            >
              {slug}
            </button>
          ))}
          {packs.length > shownPacks ? (
            <span className="small faint">{t('common.andMore', { count: packs.length - shownPacks })}</span>
          ) : null}
        </div>
      </section>
    </Card>
  );
}

const paramsOf = (params: Record<string, { default?: unknown; example?: unknown } | null> | undefined): string =>
  Object.entries(params ?? {})
    .map(([name, param]) => `${name}=${JSON.stringify(param?.example ?? param?.default ?? name)}`)
    .join(' ');

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));
