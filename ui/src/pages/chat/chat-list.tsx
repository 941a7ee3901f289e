import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { allSessions } from '../../api/queries.ts';
import { Icon } from '../../parts/icon.tsx';
import { Skeleton, Trouble } from '../../parts/page.tsx';
import { StatusBadge } from '../../parts/status-badge.tsx';
import { When } from '../../parts/when.tsx';
import { t } from '../../texts/index.ts';
import { ChatTitle } from './chat-title.tsx';

const shownAtMost = 60;

/** Conversations of a project, the last one first. */
export function ChatList({ projectId }: { projectId: string | undefined }) {
  const sessions = useQuery({
    ...allSessions(projectId ? { project_id: projectId } : {}),
    enabled: projectId !== undefined,
  });
  const roots = (sessions.data?.sessions ?? [])
    .filter((each) => !each.parent_id)
    .sort((a, b) => b.updated_at.localeCompare(a.updated_at));
  return (
    <nav className="chat-list" aria-label={t('chat.conversations')}>
      <Link
        className="button"
        to="/chat"
        search={projectId ? { project: projectId } : {}}
        activeOptions={{ exact: true }}
      >
        <Icon name="plus" size={14} />
        {t('chat.new')}
      </Link>
      {sessions.isError ? <Trouble error={sessions.error} retry={() => void sessions.refetch()} /> : null}
      {sessions.isLoading ? <Skeleton rows={4} height={26} /> : null}
      {sessions.data && roots.length === 0 ? (
        <p className="small faint" style={{ padding: 8 }}>
          {t('chat.none')}
        </p>
      ) : null}
      <div className="stack tight chats">
        {roots.slice(0, shownAtMost).map((each) => (
          <Link
            key={each.id}
            to="/chat/$sessionId"
            params={{ sessionId: each.id }}
            activeProps={{ 'aria-current': 'page' }}
          >
            <span className="row between">
              <span className="cut small strong">
                <ChatTitle sessionId={each.id} />
              </span>
              <StatusBadge status={each.status} />
            </span>
            <span className="tiny faint">
              <When at={each.updated_at} />
            </span>
          </Link>
        ))}
        {roots.length > shownAtMost || sessions.data?.next_page_token ? (
          <Link to="/sessions" search={projectId ? { project: projectId } : {}} className="small">
            {t('chat.all')}
          </Link>
        ) : null}
      </div>
    </nav>
  );
}
