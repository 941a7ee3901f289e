import { Link } from '@tanstack/react-router';
import { memo, useState } from 'react';
import { CopyButton } from '../../parts/copy.tsx';
import { Icon } from '../../parts/icon.tsx';
import { duration } from '../../parts/numbers.ts';
import { asText, Output } from '../../parts/output.tsx';
import { Prose } from '../../parts/prose.tsx';
import { visible } from '../../parts/visible.ts';
import { exactTime } from '../../parts/when.tsx';
import { statusWord } from '../../parts/status-badge.tsx';
import { t } from '../../texts/index.ts';
import { CallerCard, PermissionCard } from './asks.tsx';
import type { LocalResult } from './local-results.ts';
import type { Item } from './transcript.ts';

/** One thing of the conversation. Memoised: a long transcript must not be drawn again for every piece that arrives. */
export const ItemView = memo(function ItemView({ item, sessionId }: { item: Item; sessionId: string }) {
  switch (item.kind) {
    case 'message':
      return item.role === 'user' ? (
        <div className="bubble user" dir="auto" title={exactTime(item.at)}>
          {item.text}
          {item.files.map((name) => (
            <div key={name} className="small row">
              <Icon name="paperclip" size={12} />
              {name}
            </div>
          ))}
        </div>
      ) : (
        <div className="bubble agent" title={exactTime(item.at)}>
          <Prose text={item.text} />
        </div>
      );
    case 'thought':
      return <Thought text={item.text} />;
    case 'tool':
      return <ToolCard item={item} />;
    case 'permission':
      return <PermissionCard item={item} sessionId={sessionId} />;
    case 'caller':
      return <CallerCard item={item} sessionId={sessionId} />;
    case 'child':
      return (
        <div className="event-line">
          <span>
            {t('chat.child')}{' '}
            <Link to="/sessions/$sessionId" params={{ sessionId: item.childId }}>
              {item.childId}
            </Link>{' '}
            {statusWord(item.status)}
          </span>
        </div>
      );
    case 'over': {
      const words = [statusWord(item.status), item.reason].filter(Boolean).join(': ');
      return item.status === 'failed' ? (
        <Problem text={words} />
      ) : (
        <div className="event-line">
          <span className="words">{words}</span>
        </div>
      );
    }
    case 'problem':
      return <Problem text={item.text} />;
  }
});

function Problem({ text }: { text: string }) {
  return (
    <div className="note bad" role="alert">
      <Icon name="warn" />
      <span className="words" dir="auto">
        {text}
      </span>
    </div>
  );
}

export function Thought({ text, isLive }: { text: string; isLive?: boolean }) {
  return (
    <details className="fold" open={isLive ?? false}>
      <summary>
        <Icon name="brain" size={13} />
        {isLive ? t('chat.thinking') : t('chat.thought')}
      </summary>
      <div className="inside" dir="auto">
        {text}
      </div>
    </details>
  );
}

const states = {
  running: ['info live', 'chat.running'],
  done: ['good', 'chat.done'],
  failed: ['bad', 'chat.failed'],
  cut: ['', 'chat.cut'],
} as const;

function ToolCard({ item }: { item: Extract<Item, { kind: 'tool' }> }) {
  const [tone, word] =
    states[item.isCut ? 'cut' : item.result === undefined ? 'running' : item.isError ? 'failed' : 'done'];
  const took = item.endedAt ? new Date(item.endedAt).getTime() - new Date(item.at).getTime() : undefined;
  // Drawn when it is opened: a long session has thousands of these.
  const [isOpen, setOpen] = useState(false);
  return (
    <details className="tool-card" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Icon name="tools" size={14} />
        <code className="strong cut">{visible(item.tool)}</code>
        <code className="tiny faint cut grow">{brief(item.args)}</code>
        {took === undefined ? null : <span className="tiny quiet number">{duration(took)}</span>}
        <span className={`badge ${tone}`}>{t(word)}</span>
      </summary>
      {isOpen ? (
        <div className="inside">
          <span className="tiny faint">{t('chat.arguments')}</span>
          <pre className="out" tabIndex={0}>
            {visible((JSON.stringify(item.args, null, 2) ?? '').slice(0, 40_000))}
          </pre>
          {item.result === undefined ? null : (
            <>
              <span className="tiny faint">{t('chat.result')}</span>
              <Output value={item.result} name={item.tool} />
            </>
          )}
        </div>
      ) : null}
    </details>
  );
}

const brief = (args: unknown): string => visible((JSON.stringify(args) ?? '').slice(0, 300));

/** What a person ran from the palette; only this browser shows it, the agent does not see it. */
export function LocalCard({ result, onInsert }: { result: LocalResult; onInsert(text: string): void }) {
  return (
    <details className="tool-card" open>
      <summary>
        <Icon name="plus" size={14} />
        <code className="strong cut">{result.tool}</code>
        <code className="tiny faint cut grow">{brief(result.args)}</code>
        <span className="badge accent">{t('chat.yours')}</span>
      </summary>
      <div className="inside">
        <pre className="out" dir="auto" tabIndex={0}>
          {asText(result.value)}
        </pre>
        <div className="row">
          <button className="button compact" onClick={() => onInsert(asText(result.value))}>
            {t('palette.toMessage')}
          </button>
          <CopyButton text={asText(result.value)} />
        </div>
      </div>
    </details>
  );
}
