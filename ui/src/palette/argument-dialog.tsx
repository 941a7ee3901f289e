import { useEffect, useRef, useState } from 'react';
import type { ToolView } from '../api/shapes.ts';
import { startOf } from '../form/read-schema.ts';
import { isWhole, SchemaForm, showProblem } from '../form/schema-form.tsx';
import { useInvocation } from '../form/use-invocation.ts';
import { Dialog } from '../parts/dialog.tsx';
import { recall, remember } from '../parts/memory.ts';
import { duration } from '../parts/numbers.ts';
import { asText, Output } from '../parts/output.tsx';
import { Note } from '../parts/page.tsx';
import { t } from '../texts/index.ts';
import type { ResultSink } from './palette-host.tsx';

interface ArgumentDialogProps {
  tool: ToolView;
  sink: ResultSink;
  onClose(): void;
  onBack(): void;
}

/** The arguments of a picked tool; the result goes into the chat, into the message, or is shown here. */
export default function ArgumentDialog({ tool, sink, onClose, onBack }: ArgumentDialogProps) {
  const memory = `palette-args.${tool.id}`;
  const [args, setArgs] = useState<Record<string, unknown>>(
    () => recall(memory) ?? ((startOf(tool.argSchema) as Record<string, unknown>) || {}),
  );
  const form = useRef<HTMLFormElement>(null);
  const { run, cancel, isRunning, finished, problems } = useInvocation(tool);
  useEffect(() => {
    if (form.current && Object.keys(problems).length > 0) showProblem(form.current);
  }, [problems]);
  const go = async (way: 'chat' | 'message' | 'here'): Promise<void> => {
    remember(memory, args);
    const done = await run(args);
    if (!done?.answer.ok) return;
    if (way === 'chat') sink.toChat?.(tool, args, done.answer.value);
    if (way === 'message') sink.toMessage?.(asText(done.answer.value));
    if (way !== 'here') onClose();
  };
  const first = sink.toChat ? 'chat' : 'here';
  return (
    <Dialog
      title={tool.displayName}
      about={tool.description}
      isWide
      onClose={onClose}
      foot={
        <>
          <button className="button bare" onClick={onBack} style={{ marginRight: 'auto' }}>
            {t('palette.back')}
          </button>
          {isRunning ? (
            <button className="button" onClick={cancel}>
              {t('tester.cancel')}
            </button>
          ) : null}
          {sink.toMessage ? (
            <button
              className="button"
              disabled={isRunning}
              onClick={() => {
                if (form.current && isWhole(form.current)) void go('message');
              }}
            >
              {t('palette.toMessage')}
            </button>
          ) : null}
          <button className="button primary" disabled={isRunning} form="palette-arguments">
            {sink.toChat ? t('palette.toChat') : t('tester.run')}
          </button>
        </>
      }
    >
      <form
        ref={form}
        id="palette-arguments"
        className="stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (isWhole(event.currentTarget)) void go(first);
        }}
        onKeyDown={(event) => {
          // In a field of several lines Enter is a new line.
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) event.currentTarget.requestSubmit();
        }}
      >
        <SchemaForm schema={tool.argSchema} value={args} problems={problems} onChange={setArgs} />
      </form>
      {finished && !finished.answer.ok ? <Note tone="bad">{finished.answer.error.message}</Note> : null}
      {finished?.answer.ok && first === 'here' ? (
        <>
          <div className="meter">{duration(finished.ms)}</div>
          <Output value={finished.answer.value} name={tool.slug} />
        </>
      ) : null}
    </Dialog>
  );
}
