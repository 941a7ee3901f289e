import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect } from 'react';
import { own } from '../../api/client.ts';
import { allProjects } from '../../api/queries.ts';
import type { Session } from '../../api/shapes.ts';
import { SearchField } from '../../parts/fields.tsx';
import { count, money } from '../../parts/numbers.ts';
import { LoadMore } from '../../parts/load-more.tsx';
import { Card, Empty, Page, Skeleton, Trouble } from '../../parts/page.tsx';
import { StatusBadge } from '../../parts/status-badge.tsx';
import { When } from '../../parts/when.tsx';
import { t, type TextKey } from '../../texts/index.ts';
import { ChatTitle, knownTitle } from '../chat/chat-title.tsx';

const statuses = ['starting', 'running', 'idle', 'ended', 'failed', 'timed_out'] as const;

interface Filter {
  q?: string;
  status?: string;
  project?: string;
}

/** Every session in reach, children under their parents, live. */
export function SessionListPage() {
  const filter = useSearch({ strict: false }) as Filter;
  const navigate = useNavigate();
  const projects = useQuery(allProjects());
  const args = {
    ...(filter.status ? { status: filter.status } : {}),
    ...(filter.project ? { project_id: filter.project } : {}),
  };
  const list = useInfiniteQuery({
    queryKey: ['session', 'paged', args],
    queryFn: ({ pageParam, signal }) =>
      own<{ sessions: Session[]; next_page_token?: string }>(
        'session_list',
        { ...args, ...(pageParam ? { page_token: pageParam } : {}) },
        signal,
      ),
    initialPageParam: '',
    getNextPageParam: (page) => page.next_page_token,
  });
  const nameOf = (id: string): string => projects.data?.projects.find((each) => each.id === id)?.name ?? id;
  const wanted = (filter.q ?? '').toLowerCase();
  const sessions = (list.data?.pages.flatMap((page) => page.sessions) ?? []).filter((each) =>
    `${knownTitle(each.id) ?? ''} ${each.id} ${nameOf(each.project_id)} ${each.agent}`.toLowerCase().includes(wanted),
  );
  // What is looked for may be on a page that nobody has turned to yet.
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = list;
  const isMissing = wanted !== '' && sessions.length === 0 && hasNextPage;
  useEffect(() => {
    if (isMissing && !isFetchingNextPage) void fetchNextPage();
  }, [isMissing, isFetchingNextPage, fetchNextPage]);
  const set = (change: Filter): void => {
    const next = Object.fromEntries(Object.entries({ ...filter, ...change }).filter(([, value]) => value));
    void navigate({ to: '/sessions', search: next, replace: true });
  };
  return (
    <Page title={t('nav.sessions')} about={t('sessions.about')} isWide>
      <div className="toolbar">
        <SearchField label={t('sessions.search')} value={filter.q ?? ''} onText={(q) => set({ q })} />
        <select
          className="select auto"
          aria-label={t('sessions.status')}
          value={filter.status ?? ''}
          onChange={(event) => set({ status: event.target.value })}
        >
          <option value="">{t('sessions.anyStatus')}</option>
          {statuses.map((status) => (
            <option key={status} value={status}>
              {t(`status.${status}` as TextKey)}
            </option>
          ))}
        </select>
        <select
          className="select auto"
          aria-label={t('chat.project')}
          value={filter.project ?? ''}
          onChange={(event) => set({ project: event.target.value })}
        >
          <option value="">{t('sessions.anyProject')}</option>
          {(projects.data?.projects ?? []).map((project) => (
            <option key={project.id} value={project.id}>
              {project.name}
            </option>
          ))}
        </select>
      </div>
      <Card isPlain>
        {list.isError ? <Trouble error={list.error} retry={() => void list.refetch()} /> : null}
        {list.isLoading || isMissing ? <Skeleton rows={6} /> : null}
        {list.data && sessions.length === 0 && !isMissing && Object.keys(filter).length > 0 ? (
          <Empty icon="sessions" title={t('common.nothingFound')} />
        ) : null}
        {list.data && sessions.length === 0 && Object.keys(filter).length === 0 ? (
          <Empty icon="sessions" title={t('sessions.noneTitle')}>
            <p>{t('sessions.noneAbout')}</p>
            <Link className="button" to="/chat">
              {t('sessions.startChat')}
            </Link>
          </Empty>
        ) : null}
        {sessions.length > 0 ? (
          <div className="table-wrap">
            <table className="table">
              <thead>
                <tr>
                  <th>{t('sessions.session')}</th>
                  <th>{t('sessions.status')}</th>
                  <th className="wide">{t('chat.project')}</th>
                  <th className="roomy">{t('sessions.agent')}</th>
                  <th className="end wide">{t('sessions.turns')}</th>
                  <th className="end roomy">{t('sessions.tokens')}</th>
                  <th className="end roomy">{t('sessions.cost')}</th>
                  <th className="end">{t('sessions.updated')}</th>
                </tr>
              </thead>
              <tbody>
                {treeOrder(sessions).map(({ session, depth }) => (
                  <tr key={session.id}>
                    <td className="session-name" style={depth > 0 ? { paddingLeft: 14 + depth * 20 } : undefined}>
                      <div className="cut">
                        {depth > 0 ? <span className="faint">└ </span> : null}
                        <Link to="/sessions/$sessionId" params={{ sessionId: session.id }}>
                          <ChatTitle sessionId={session.id} />
                        </Link>
                      </div>
                      <code className="tiny faint">{session.id}</code>
                    </td>
                    <td>
                      <StatusBadge status={session.status} />
                    </td>
                    <td className="cut wide" style={{ maxWidth: 180 }}>
                      {nameOf(session.project_id)}
                    </td>
                    <td className="roomy">{session.agent}</td>
                    <td className="end number wide">{session.turn}</td>
                    <td className="end number roomy">
                      {count((session.usage?.input_tokens ?? 0) + (session.usage?.output_tokens ?? 0))}
                    </td>
                    <td className="end number roomy">{money(session.usage?.cost_usd ?? 0)}</td>
                    <td className="end">
                      <When at={session.updated_at} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        ) : null}
        <LoadMore pages={list} />
      </Card>
    </Page>
  );
}

/** Parents by last activity, each followed by its children. */
export function treeOrder(sessions: Session[]): { session: Session; depth: number }[] {
  const ids = new Set(sessions.map((each) => each.id));
  const children = Map.groupBy(sessions, (each) => (each.parent_id && ids.has(each.parent_id) ? each.parent_id : ''));
  const below = (parent: string, depth: number): { session: Session; depth: number }[] =>
    [...(children.get(parent) ?? [])]
      .sort((a, b) =>
        parent === '' ? b.updated_at.localeCompare(a.updated_at) : a.created_at.localeCompare(b.created_at),
      )
      .flatMap((session) => [{ session, depth }, ...below(session.id, depth + 1)]);
  return below('', 0);
}
