import { useEffect, useRef, useState } from 'react';
import type { ToolView } from '../../api/shapes.ts';
import { Editor } from '../../editors/editor.tsx';
import { longIntegers, tooLong } from '../../form/long-integer.ts';
import { isObject, startOf } from '../../form/read-schema.ts';
import { isWhole, ProblemList, SchemaForm, showProblem } from '../../form/schema-form.tsx';
import { useInvocation, type Finished } from '../../form/use-invocation.ts';
import { useTyped } from '../../form/use-typed.ts';
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
  // Text that cannot be sent yet is still there when one comes back from the form, unless that was used meanwhile.
  const [text, keep] = useTyped(draft.value, (args) => JSON.stringify(args, null, 2));
  const fault = way === 'json' ? readArgs(text).fault : undefined;
  const form = useRef<HTMLFormElement>(null);
  const { run, cancel, isRunning, finished, setFinished, problems } = useInvocation(tool);
  useEffect(() => {
    if (form.current && Object.keys(problems).length > 0) showProblem(form.current);
  }, [problems]);
  const memory = `history.${tool.id}`;
  const [history, setHistory] = useState<Finished[]>(() => recall(memory) ?? []);
  const [examples, setExamples] = useState<Example[]>(() => recall(`examples.${tool.id}`) ?? []);

  const isReady = (): boolean => fault === undefined && form.current !== null && isWhole(form.current);

  const go = async (): Promise<void> => {
    if (isRunning || !isReady()) return;
    const done = await run(draft.value);
    if (!done) return;
    const kept = [shortened(done), ...history].slice(0, keptRuns);
    setHistory(kept);
    remember(memory, kept);
  };
  const saveExample = (): void => {
    if (!isReady()) return;
    const next = [...examples, { name: t('tester.exampleName', { number: examples.length + 1 }), args: draft.value }];
    setExamples(next);
    remember(`examples.${tool.id}`, next);
    toast(t('tester.exampleSaved'), { tone: 'good' });
  };
  const use = (args: Args): void => {
    draft.change(args);
    keep(JSON.stringify(args, null, 2), args);
  };
  const copy = (as: (tool: ToolView, args: Args) => string): void => {
    if (isReady()) void copyText(as(tool, draft.value));
  };
  return (
    <div className="columns">
      <div className="stack">
        <Card
          title={t('tester.arguments')}
          actions={
            <Segmented<'form' | 'json'>
              label={t('tester.way')}
              value={way}
              onPick={setWay}
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
            ref={form}
            className="stack"
            noValidate
            onSubmit={(event) => {
              event.preventDefault();
              void go();
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
                hasProblem={fault !== undefined}
                onRun={() => void go()}
                onChange={(next) => {
                  const { args } = readArgs(next);
                  keep(next, args ?? draft.value);
                  if (args) draft.change(args);
                }}
              />
            )}
            {fault ? <Note tone="bad">{fault}</Note> : null}
            {way === 'json' ? <ProblemList problems={problems} /> : null}
            <div className="row wrap">
              <button className="button primary" disabled={isRunning || fault !== undefined}>
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
                  { label: 'curl', run: () => copy((it, args) => asCurl(it, args, location.origin)) },
                  { label: 'MCP', run: () => copy(asMcp) },
                  { label: t('tester.code'), run: () => copy(asCode) },
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

/** Arguments written as JSON, or why they cannot be sent as they stand there. */
function readArgs(text: string): { args?: Args; fault?: string } {
  try {
    const args: unknown = JSON.parse(text);
    const [long] = longIntegers(text);
    if (long) return { fault: tooLong(long.digits) };
    return isObject(args) ? { args } : { fault: t('tester.notObject') };
  } catch {
    return { fault: t('form.notJson') };
  }
}

/** Large answers stay on the page but are not written to the browser's memory. */
function shortened(done: Finished): Finished {
  if (!done.answer.ok || done.bytes < 20_000) return done;
  return { ...done, answer: { ok: true, value: `${JSON.stringify(done.answer.value).slice(0, 2_000)} …` } };
}
