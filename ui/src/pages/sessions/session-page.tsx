import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { allProjects, sessionFamily, oneSession } from '../../api/queries.ts';
import type { Session, SessionEvent } from '../../api/shapes.ts';
import { Icon } from '../../parts/icon.tsx';
import { count, money } from '../../parts/numbers.ts';
import { downloadText } from '../../parts/output-file.ts';
import { Card, Note, Page, Skeleton, Trouble } from '../../parts/page.tsx';
import { StatusBadge } from '../../parts/status-badge.tsx';
import { toastError } from '../../parts/toasts.tsx';
import { When } from '../../parts/when.tsx';
import { t } from '../../texts/index.ts';
import { isOver } from '../chat/transcript.ts';
import { EndSession } from './end-session.tsx';
import { treeOrder } from './session-list.tsx';
import { Timeline } from './timeline.tsx';
import { useEvents } from './use-events.ts';

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
  const family = treeOrder(useQuery(sessionFamily(session.id)).data ?? []);
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
