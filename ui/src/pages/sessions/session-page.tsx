import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useEffect, useMemo, useRef, useState } from 'react';
import { request } from '../../api/client.ts';
import { follow } from '../../api/follow.ts';
import { allProjects, allSessions, oneSession } from '../../api/queries.ts';
import type { Session, SessionEvent } from '../../api/shapes.ts';
import { SearchField } from '../../parts/fields.tsx';
import { Icon } from '../../parts/icon.tsx';
import { count, money } from '../../parts/numbers.ts';
import { downloadText } from '../../parts/output-file.ts';
import { Card, Empty, Note, Page, Skeleton, Trouble } from '../../parts/page.tsx';
import { StatusBadge } from '../../parts/status-badge.tsx';
import { toastError } from '../../parts/toasts.tsx';
import { clockTime, exactTime, When } from '../../parts/when.tsx';
import { t } from '../../texts/index.ts';
import { isOver } from '../chat/transcript.ts';
import { EndSession } from './end-session.tsx';
import { treeOrder } from './session-list.tsx';

const shownAtFirst = 400;

export function SessionPage() {
  const { sessionId } = useParams({ strict: false }) as { sessionId: string };
  const session = useQuery(oneSession(sessionId));
  if (session.data) return <OneSession key={sessionId} session={session.data} />;
  return (
    <Page title={sessionId} crumbs={<Link to="/sessions">{t('nav.sessions')}</Link>}>
      <Card isPlain>
        {session.isError ? (
          <Trouble error={session.error} retry={() => void session.refetch()} />
        ) : (
          <Skeleton rows={6} />
        )}
      </Card>
    </Page>
  );
}

function OneSession({ session }: { session: Session }) {
  const { events, status: liveStatus, problem } = useEvents(session.id);
  const [isEnding, setEnding] = useState(false);
  const project = useQuery(allProjects()).data?.projects.find((each) => each.id === session.project_id);
  const status = liveStatus ?? session.status;
  const error = typeof session.error === 'string' ? session.error : session.error?.message;
  return (
    <Page
      isWide
      title={project?.name ?? session.project_id}
      badges={<StatusBadge status={status} />}
      crumbs={
        <>
          <Link to="/sessions">{t('nav.sessions')}</Link>
          <span>/</span>
          <code>{session.id}</code>
        </>
      }
      actions={
        <>
          <Link className="button" to="/chat/$sessionId" params={{ sessionId: session.id }}>
            <Icon name="chat" size={14} />
            {t('sessions.openChat')}
          </Link>
          <button className="button" onClick={() => void download(session.id).catch(toastError)}>
            <Icon name="download" size={14} />
            {t('sessions.download')}
          </button>
          <button className="button danger" disabled={isOver(status)} onClick={() => setEnding(true)}>
            {t('sessions.end')}
          </button>
        </>
      }
    >
      {error ? <Note tone="bad">{error}</Note> : null}
      {problem ? <Note tone="bad">{problem}</Note> : null}
      <div className="columns side-right">
        <Timeline events={events} />
        <div className="stack">
          <Facts session={session} />
          <Tree session={session} />
        </div>
      </div>
      {isEnding ? <EndSession sessionId={session.id} onClose={() => setEnding(false)} /> : null}
    </Page>
  );
}

function Timeline({ events }: { events: SessionEvent[] }) {
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
          <li key={event.index}>
            <span className="faint number">#{event.index}</span>
            <span className="badge">{event.type}</span>
            <time className="tiny faint number" dateTime={event.at} title={`${exactTime(event.at)} · ${event.at}`}>
              {clockTime(event.at)}
            </time>
            <span className="what" dir="auto" tabIndex={0}>
              {summary(event)}
            </span>
          </li>
        ))}
      </ol>
    </Card>
  );
}

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

function Facts({ session }: { session: Session }) {
  return (
    <Card title={t('sessions.facts')}>
      <dl className="facts">
        <dt>{t('sessions.agent')}</dt>
        <dd>
          {session.agent}
          {session.model ? ` · ${session.model}` : ''}
        </dd>
        <dt>{t('sessions.turns')}</dt>
        <dd className="number">{session.turn}</dd>
        <dt>{t('sessions.tokens')}</dt>
        <dd className="number">
          {count(session.usage?.input_tokens ?? 0)} / {count(session.usage?.output_tokens ?? 0)}
        </dd>
        <dt>{t('sessions.cost')}</dt>
        <dd className="number">{money(session.usage?.cost_usd ?? 0)}</dd>
        <dt>{t('sessions.owner')}</dt>
        <dd>
          <code className="tiny">{session.owner ?? '–'}</code>
        </dd>
        <dt>{t('sessions.workspace')}</dt>
        <dd>
          <code className="tiny">{session.workspace_id}</code>
        </dd>
        <dt>{t('sessions.started')}</dt>
        <dd>
          <When at={session.created_at} />
        </dd>
        <dt>{t('sessions.updated')}</dt>
        <dd>
          <When at={session.updated_at} />
        </dd>
      </dl>
    </Card>
  );
}

function Tree({ session }: { session: Session }) {
  const all = useQuery(allSessions({ project_id: session.project_id })).data?.sessions ?? [];
  const byId = new Map(all.map((each) => [each.id, each]));
  let root = session;
  for (let hops = 0; root.parent_id && byId.has(root.parent_id) && hops < 20; hops++)
    root = byId.get(root.parent_id) ?? root;
  const family = treeOrder(all).filter(({ session: each }) => isBelow(each, root.id, byId));
  if (family.length < 2) return null;
  return (
    <Card title={t('sessions.tree')}>
      <ul className="stack tight">
        {family.map(({ session: each, depth }) => (
          <li key={each.id} className="row" style={{ paddingLeft: depth * 16 }}>
            {each.id === session.id ? (
              <strong className="cut tiny mono">{each.id}</strong>
            ) : (
              <Link className="cut tiny mono" to="/sessions/$sessionId" params={{ sessionId: each.id }}>
                {each.id}
              </Link>
            )}
            <StatusBadge status={each.status} />
          </li>
        ))}
      </ul>
    </Card>
  );
}

function isBelow(session: Session, rootId: string, byId: Map<string, Session>): boolean {
  for (
    let at: Session | undefined = session, hops = 0;
    at && hops < 20;
    hops++, at = at.parent_id ? byId.get(at.parent_id) : undefined
  )
    if (at.id === rootId) return true;
  return false;
}

function useEvents(sessionId: string) {
  const [events, setEvents] = useState<SessionEvent[]>([]);
  const [problem, setProblem] = useState<string>();
  const buffer = useRef<SessionEvent[]>([]);
  useEffect(() => {
    buffer.current = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = follow({
      path: () => `/sessions/${encodeURIComponent(sessionId)}/events?after=${buffer.current.at(-1)?.index ?? -1}`,
      onState: (_, error) => error && setProblem(error.message),
      onFrame: (frame) => {
        if (frame.event === 'reset') buffer.current = [];
        if (frame.id === undefined) return;
        const event = JSON.parse(frame.data) as SessionEvent;
        if (event.index > (buffer.current.at(-1)?.index ?? -1)) buffer.current.push(event);
        timer ??= setTimeout(() => {
          timer = undefined;
          setEvents([...buffer.current]);
        }, 60);
      },
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [sessionId]);
  const status = events.findLast((event) => event.type === 'status')?.['status'] as string | undefined;
  return { events, status, problem };
}

/** The whole log as JSON lines, page after page. */
async function download(sessionId: string): Promise<void> {
  const lines: string[] = [];
  let after = -1;
  for (;;) {
    const page = await request<{ events: SessionEvent[]; last_index: number; has_more: boolean }>(
      'GET',
      `/sessions/${encodeURIComponent(sessionId)}/events?after=${after}`,
      { headers: { accept: 'application/json' } },
    );
    lines.push(...page.events.map((event) => JSON.stringify(event)));
    after = page.last_index;
    if (!page.has_more || page.events.length === 0) break;
  }
  downloadText(`${sessionId}.jsonl`, `${lines.join('\n')}\n`, 'application/x-ndjson');
}
