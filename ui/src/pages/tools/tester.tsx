import { useState } from 'react';
import type { ToolView } from '../../api/shapes.ts';
import { Editor } from '../../editors/editor.tsx';
import { startOf } from '../../form/read-schema.ts';
import { isWhole, ProblemList, SchemaForm } from '../../form/schema-form.tsx';
import { useInvocation, type Finished } from '../../form/use-invocation.ts';
import { copyText } from '../../parts/copy.tsx';
import { useDraft } from '../../parts/draft.ts';
import { Segmented } from '../../parts/fields.tsx';
import { Icon } from '../../parts/icon.tsx';
import { recall, remember } from '../../parts/memory.ts';
import { Menu } from '../../parts/menu.tsx';
import { Card, Note } from '../../parts/page.tsx';
import { toast } from '../../parts/toasts.tsx';
import { t } from '../../texts/index.ts';
import { asCode, asCurl, asMcp } from './copy-as.ts';
import { RequestPreview } from './request-preview.tsx';
import { Examples, History, type Example } from './tester-memory.tsx';
import { TesterResult } from './tester-result.tsx';

const keptRuns = 12;

type Args = Record<string, unknown>;

/** Tries a tool: arguments by form or JSON, the request as it will go out, the answer with all its numbers, and what was tried before. */
export function Tester({ tool, isOwn }: { tool: ToolView; isOwn: boolean }) {
  const draft = useDraft<Args>(`try.${tool.id}`, (startOf(tool.argSchema) as Args | undefined) ?? {});
  const [way, setWay] = useState<'form' | 'json'>('form');
  const [text, setText] = useState('');
  const [isBroken, setBroken] = useState(false);
  const { run, cancel, isRunning, finished, setFinished, problems } = useInvocation(tool);
  const memory = `history.${tool.id}`;
  const [history, setHistory] = useState<Finished[]>(() => recall(memory) ?? []);
  const [examples, setExamples] = useState<Example[]>(() => recall(`examples.${tool.id}`) ?? []);

  const pickWay = (next: 'form' | 'json'): void => {
    setWay(next);
    setText(JSON.stringify(draft.value, null, 2));
    setBroken(false);
  };

  const go = async (): Promise<void> => {
    if (isBroken || isRunning) return;
    const done = await run(draft.value);
    if (!done) return;
    const kept = [shortened(done), ...history].slice(0, keptRuns);
    setHistory(kept);
    remember(memory, kept);
  };
  const saveExample = (): void => {
    const next = [...examples, { name: t('tester.exampleName', { number: examples.length + 1 }), args: draft.value }];
    setExamples(next);
    remember(`examples.${tool.id}`, next);
    toast(t('tester.exampleSaved'), { tone: 'good' });
  };
  const use = (args: Args): void => {
    draft.change(args);
    setText(JSON.stringify(args, null, 2));
    setBroken(false);
  };
  const address = location.origin;
  return (
    <div className="columns">
      <div className="stack">
        <Card
          title={t('tester.arguments')}
          actions={
            <Segmented<'form' | 'json'>
              label={t('tester.way')}
              value={way}
              onPick={pickWay}
              options={
                [
                  ['form', t('tester.form')],
                  ['json', 'JSON'],
                ] as const
              }
            />
          }
        >
          <form
            className="stack"
            noValidate
            onSubmit={(event) => {
              event.preventDefault();
              if (isWhole(event.currentTarget)) void go();
            }}
            onKeyDown={(event) => {
              if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) event.currentTarget.requestSubmit();
            }}
          >
            {way === 'form' ? (
              <SchemaForm schema={tool.argSchema} value={draft.value} problems={problems} onChange={draft.change} />
            ) : (
              <Editor
                label={t('tester.arguments')}
                language="json"
                value={text}
                hasProblem={isBroken}
                onRun={() => void go()}
                onChange={(next) => {
                  setText(next);
                  try {
                    const parsed: unknown = JSON.parse(next);
                    const isFine = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
                    setBroken(!isFine);
                    if (isFine) draft.change(parsed as Args);
                  } catch {
                    setBroken(true);
                  }
                }}
              />
            )}
            {isBroken ? <Note tone="bad">{t('form.notJson')}</Note> : null}
            {way === 'json' ? <ProblemList problems={problems} /> : null}
            <div className="row wrap">
              <button className="button primary" disabled={isRunning || isBroken}>
                <Icon name="play" size={13} />
                {t('tester.run')}
              </button>
              <button type="button" className="button" onClick={cancel} disabled={!isRunning}>
                <Icon name="stop" size={13} />
                {t('tester.cancel')}
              </button>
              <Menu
                text={t('tester.copyAs')}
                entries={[
                  { label: 'curl', run: () => void copyText(asCurl(tool, draft.value, address)) },
                  { label: 'MCP', run: () => void copyText(asMcp(tool, draft.value)) },
                  { label: t('tester.code'), run: () => void copyText(asCode(tool, draft.value)) },
                ]}
              />
              <button type="button" className="button bare" onClick={saveExample}>
                {t('tester.saveExample')}
              </button>
            </div>
          </form>
        </Card>
        {tool.type === 'http' ? <RequestPreview tool={tool} args={draft.value} /> : null}
        <Examples
          tool={tool}
          isOwn={isOwn}
          saved={examples}
          onUse={use}
          onForget={(index) => {
            const next = examples.filter((_, at) => at !== index);
            setExamples(next);
            remember(`examples.${tool.id}`, next);
          }}
        />
      </div>
      <div className="stack">
        <TesterResult tool={tool} finished={finished} isRunning={isRunning} />
        <History
          runs={history}
          onPick={(done) => {
            use(done.args);
            setFinished(done);
          }}
          onClear={() => {
            setHistory([]);
            remember(memory, []);
          }}
        />
      </div>
    </div>
  );
}

/** Large answers stay on the page but are not written to the browser's memory. */
function shortened(done: Finished): Finished {
  if (!done.answer.ok || done.bytes < 20_000) return done;
  return { ...done, answer: { ok: true, value: `${JSON.stringify(done.answer.value).slice(0, 2_000)} …` } };
}
