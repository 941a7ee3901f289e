import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { memo, useMemo, useState } from 'react';
import type { SessionEvent } from '../../api/shapes.ts';
import { SearchField } from '../../parts/fields.tsx';
import { count } from '../../parts/numbers.ts';
import { Card, Empty } from '../../parts/page.tsx';
import { clockTime, exactTime } from '../../parts/when.tsx';
import { t } from '../../texts/index.ts';

const shownAtFirst = 400;

/** Every event of a session, filtered by what stands in the address. */
export function Timeline({ events }: { events: SessionEvent[] }) {
  const search = useSearch({ strict: false }) as { q?: string; type?: string };
  const navigate = useNavigate();
  const params = useParams({ strict: false }) as { sessionId: string };
  const [shown, setShown] = useState(shownAtFirst);
  const types = useMemo(() => [...new Set(events.map((event) => event.type))].sort(), [events]);
  const wanted = (search.q ?? '').toLowerCase();
  const found = useMemo(
    () =>
      events.filter(
        (event) =>
          (!search.type || event.type === search.type) &&
          (wanted === '' || JSON.stringify(event).toLowerCase().includes(wanted)),
      ),
    [events, search.type, wanted],
  );
  const set = (change: { q?: string; type?: string }): void =>
    void navigate({
      to: '/sessions/$sessionId',
      params,
      search: Object.fromEntries(Object.entries({ ...search, ...change }).filter(([, value]) => value)),
      replace: true,
    });
  return (
    <Card
      isPlain
      title={t('sessions.timeline', { count: count(found.length) })}
      actions={
        <>
          <SearchField label={t('sessions.filter')} value={search.q ?? ''} onText={(q) => set({ q })} />
          <select
            className="select auto"
            aria-label={t('sessions.type')}
            value={search.type ?? ''}
            onChange={(event) => set({ type: event.target.value })}
          >
            <option value="">{t('sessions.anyType')}</option>
            {types.map((type) => (
              <option key={type}>{type}</option>
            ))}
          </select>
        </>
      }
    >
      {found.length === 0 ? <Empty icon="clock" title={t('sessions.noEvents')} /> : null}
      {found.length > shown ? (
        <div className="card-foot">
          <button className="button compact" onClick={() => setShown(shown * 3)}>
            {t('chat.earlier')}
          </button>
        </div>
      ) : null}
      <ol className="timeline">
        {found.slice(-shown).map((event) => (
          <Row key={event.index} event={event} />
        ))}
      </ol>
    </Card>
  );
}

/** Memoised: a session at work brings events all the time, and those that are there do not change. */
const Row = memo(function Row({ event }: { event: SessionEvent }) {
  const text = summary(event);
  // Only what may need scrolling is a stop for the tab key: there are hundreds of rows.
  const isTall = text.length > 300 || text.split('\n').length > 5;
  return (
    <li>
      <span className="faint number">#{event.index}</span>
      <span className="badge">{event.type}</span>
      <time className="tiny faint number" dateTime={event.at} title={`${exactTime(event.at)} · ${event.at}`}>
        {clockTime(event.at)}
      </time>
      <span className="what" dir="auto" tabIndex={isTall ? 0 : undefined}>
        {text}
      </span>
    </li>
  );
});

/** An event in words: the text where there is one, else its own fields. */
function summary(event: SessionEvent): string {
  const { index: _index, type: _type, at: _at, session_id: _session, turn: _turn, ...rest } = event;
  if (typeof rest['text'] === 'string' && Object.keys(rest).length <= 3)
    return `${rest['role'] ? `${String(rest['role'])}: ` : ''}${rest['text']}`;
  if (event.type === 'status') return [rest['status'], rest['reason']].filter(Boolean).join(': ');
  if (event.type === 'tool_call') return `${String(rest['tool'])} ${JSON.stringify(rest['arguments'])}`;
  if (event.type === 'tool_result') return `${rest['is_error'] ? '✗ ' : ''}${String(rest['text'])}`;
  return JSON.stringify(rest);
}
