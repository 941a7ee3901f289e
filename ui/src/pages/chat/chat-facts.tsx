import type { Session } from '../../api/shapes.ts';
import { count, money } from '../../parts/numbers.ts';
import { t } from '../../texts/index.ts';
import type { Transcript } from './transcript.ts';

/** Tokens and cost so far. */
export function UsageText({ transcript, session }: { transcript: Transcript; session: Session }) {
  const usage = transcript.usage ?? session.usage;
  if (!usage || (!usage.input_tokens && !usage.output_tokens)) return null;
  return (
    <span className="tiny quiet number">
      {t('chat.usage', { input: count(usage.input_tokens ?? 0), output: count(usage.output_tokens ?? 0) })}
      {usage.cost_usd ? ` · ${money(usage.cost_usd)}` : ''}
    </span>
  );
}

/** The agent's plan with what is done of it. */
export function Plan({ transcript }: { transcript: Transcript }) {
  const done = transcript.plan.filter((entry) => entry.status === 'completed').length;
  return (
    <div className="chat-flow" style={{ padding: '8px 20px' }}>
      <details className="fold" open>
        <summary>{t('chat.plan', { done, all: transcript.plan.length })}</summary>
        <ul className="plan inside">
          {transcript.plan.map((entry, index) => (
            <li key={index} className={entry.status}>
              <span aria-hidden="true">
                {entry.status === 'completed' ? '✓' : entry.status === 'in_progress' ? '▸' : '·'}
              </span>
              <span>{entry.content}</span>
            </li>
          ))}
        </ul>
      </details>
    </div>
  );
}
