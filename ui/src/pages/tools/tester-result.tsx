import type { ToolView } from '../../api/shapes.ts';
import type { Finished } from '../../form/use-invocation.ts';
import { bytes, count, duration, roughTokens } from '../../parts/numbers.ts';
import { asText, Output } from '../../parts/output.tsx';
import { Card, Empty, Note, Skeleton } from '../../parts/page.tsx';
import { t } from '../../texts/index.ts';

/** The answer of a try: status, time, size, tokens, whether it fits the output schema, and the value itself. */
export function TesterResult({
  tool,
  finished,
  isRunning,
}: {
  tool: ToolView;
  finished: Finished | undefined;
  isRunning: boolean;
}) {
  return (
    <Card
      title={t('tester.answer')}
      // There before anything is in it: only then is what comes into it read out.
      actions={
        <div className="meter" role="status">
          {finished && !isRunning ? <Numbers tool={tool} finished={finished} /> : null}
        </div>
      }
    >
      {isRunning ? <Skeleton rows={4} height={16} /> : null}
      {!isRunning && !finished ? (
        <Empty icon="flask" title={t('tester.emptyTitle')}>
          <p>{t('tester.emptyAbout')}</p>
        </Empty>
      ) : null}
      {!isRunning && finished ? <Result finished={finished} name={tool.slug} /> : null}
    </Card>
  );
}

function Numbers({ tool, finished }: { tool: ToolView; finished: Finished }) {
  const { answer, refusal, ms } = finished;
  return (
    <>
      <span className={`badge ${answer.ok ? 'good' : 'bad'}`}>
        {answer.ok ? t('tester.ok') : refusal ? `${refusal.status || ''} ${refusal.code}` : answer.error.code}
      </span>
      <span className="number">{duration(ms)}</span>
      {answer.ok ? (
        <>
          <span className="number">{bytes(finished.bytes)}</span>
          <span className="number" title={t('tester.tokensHint')}>
            ≈ {t('tester.tokens', { count: count(roughTokens(asText(answer.value))) })}
          </span>
          <span className={tool.outputSchema ? 'tone-good' : 'faint'}>
            {tool.outputSchema ? t('tester.fits') : t('tester.noOutputSchema')}
          </span>
        </>
      ) : answer.error.code === 'output.invalid' ? (
        <span className="tone-bad">{t('tester.fitsNot')}</span>
      ) : null}
    </>
  );
}

function Result({ finished: { answer, refusal }, name }: { finished: Finished; name: string }) {
  if (answer.ok) return <Output value={answer.value} name={name} />;
  return (
    <Note tone="bad">
      <strong>{refusal ? t('tester.refused') : t('tester.failed')}</strong>
      <span>{answer.error.message}</span>
      {!refusal && answer.error.retryable ? <span>{t('tester.retryable')}</span> : null}
    </Note>
  );
}
