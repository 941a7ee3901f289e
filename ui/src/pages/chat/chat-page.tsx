import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { own } from '../../api/client.ts';
import { allProjects, allSessions, oneSession } from '../../api/queries.ts';
import type { Session } from '../../api/shapes.ts';
import { usePalette } from '../../palette/palette-host.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Menu } from '../../parts/menu.tsx';
import { count, money } from '../../parts/numbers.ts';
import { Empty, Note, Skeleton, Trouble, useTitle } from '../../parts/page.tsx';
import { Prose } from '../../parts/prose.tsx';
import { StatusBadge } from '../../parts/status-badge.tsx';
import { toastError } from '../../parts/toasts.tsx';
import { When } from '../../parts/when.tsx';
import { t } from '../../texts/index.ts';
import { Composer, type ComposerHandle } from './composer.tsx';
import { useLocalResults } from './local-results.ts';
import { ProjectPicker } from './project-picker.tsx';
import { sendMessage, titleOf } from './send-message.ts';
import { isBusy, isOver, type Transcript } from './transcript.ts';
import { ItemView, LocalCard, Thought } from './transcript-view.tsx';
import { useSessionStream } from './use-session-stream.ts';

/** How many events are shown at first; the rest of a very long session is loaded on demand. */
const firstEvents = 3_000;

export function ChatStartPage() {
  const navigate = useNavigate();
  const search = useSearch({ strict: false }) as { project?: string };
  const projects = useQuery(allProjects());
  const picked = projects.data?.projects.find((each) => each.id === search.project) ?? projects.data?.projects[0];
  useTitle(t('nav.chat'));
  return (
    <div className="page full">
      <div className="chat">
        <ChatList projectId={picked?.id} />
        <div className="chat-main">
          <header className="chat-head">
            <h1 style={{ fontSize: 'var(--size-l)' }}>{t('chat.new')}</h1>
            {projects.data ? (
              <ProjectPicker
                projects={projects.data.projects}
                picked={picked}
                onPick={(project) => void navigate({ to: '/chat', search: { project } })}
              />
            ) : null}
          </header>
          <div className="chat-scroll">
            <div className="chat-flow">
              {projects.isLoading ? <Skeleton rows={3} /> : null}
              {projects.isError ? <Trouble error={projects.error} retry={() => void projects.refetch()} /> : null}
              {projects.data ? (
                <Empty
                  icon="chat"
                  title={picked ? t('chat.emptyTitle', { name: picked.name }) : t('chat.noProjectTitle')}
                >
                  <p>{picked ? t('chat.emptyAbout') : t('chat.noProjectAbout')}</p>
                  {picked?.agent === 'embedded' || (picked && !picked.agent) ? (
                    <>
                      <p className="small">{t('chat.embeddedAbout')}</p>
                      <pre className="out" tabIndex={0} style={{ textAlign: 'left' }}>
                        {'run(code="demo.foo(text=\'hello\')")'}
                      </pre>
                      <pre className="out" tabIndex={0} style={{ textAlign: 'left' }}>
                        {'web_ask_user(question="How are you?", choices=["Fine", "So so"])'}
                      </pre>
                    </>
                  ) : null}
                </Empty>
              ) : null}
            </div>
          </div>
          <Composer
            draftName={`chat.new.${picked?.id ?? ''}`}
            isBusy={false}
            isDisabled={!picked}
            placeholder={t('chat.placeholder')}
            send={async (message, attachments, key) => {
              const sent = await sendMessage({
                message,
                attachments,
                key,
                ...(picked ? { projectId: picked.id } : {}),
              });
              await navigate({ to: '/chat/$sessionId', params: { sessionId: sent.session_id } });
            }}
          />
        </div>
      </div>
    </div>
  );
}

export function ChatPage() {
  const { sessionId } = useParams({ strict: false }) as { sessionId: string };
  const session = useQuery(oneSession(sessionId));
  return (
    <div className="page full">
      <div className="chat">
        <ChatList projectId={session.data?.project_id} />
        {session.data ? (
          <Conversation key={sessionId} session={session.data} />
        ) : (
          <div className="chat-main">
            {session.isError ? (
              <Trouble error={session.error} retry={() => void session.refetch()} />
            ) : (
              <Skeleton rows={5} />
            )}
          </div>
        )}
      </div>
    </div>
  );
}

function Conversation({ session }: { session: Session }) {
  // Fixed at opening: a session that grows meanwhile must not lose its beginning on the page.
  const [after, setAfter] = useState(() => Math.max(-1, session.last_event_index - firstEvents));
  const { transcript, state, problem } = useSessionStream(session.id, after);
  const project = useQuery(allProjects()).data?.projects.find((each) => each.id === session.project_id);
  const [results, addResult] = useLocalResults(session.id);
  const composer = useRef<ComposerHandle>(null);
  const palette = usePalette();
  const newest = useRef(-1);
  useEffect(() => {
    newest.current = transcript.lastIndex;
  }, [transcript.lastIndex]);
  const status = transcript.status || session.status;
  useTitle(`${project?.name ?? ''} ${t('nav.chat')}`);

  useEffect(
    () =>
      palette.offer({
        toChat: (tool, args, value) => addResult({ after: newest.current, tool: tool.name, args, value }),
        toMessage: (text) => composer.current?.insert(text),
      }),
    [palette, addResult],
  );
  const stop = (): void => void own('session_cancel', { session_id: session.id }).catch(toastError);
  return (
    <div className="chat-main">
      <header className="chat-head">
        <div className="row wrap">
          <h1 style={{ fontSize: 'var(--size-l)' }} className="cut">
            {project?.name ?? session.project_id}
          </h1>
          <StatusBadge status={status} />
          {state === 'lost' ? <span className="badge warn">{t('chat.reconnecting')}</span> : null}
          <span className="tiny faint">{session.agent}</span>
        </div>
        <div className="row wrap">
          <UsageText transcript={transcript} session={session} />
          <Link className="button compact" to="/sessions/$sessionId" params={{ sessionId: session.id }}>
            {t('chat.timeline')}
          </Link>
          <Menu
            entries={[
              {
                label: t('sessions.end'),
                icon: 'stop',
                isDanger: true,
                run: () => void own('session_end', { session_id: session.id }).catch(toastError),
              },
            ]}
          />
        </div>
      </header>
      <Flow transcript={transcript} sessionId={session.id}>
        {after >= 0 ? (
          <div className="row" style={{ justifyContent: 'center' }}>
            <button className="button compact" onClick={() => setAfter(-1)}>
              {t('chat.earlier')}
            </button>
          </div>
        ) : null}
        {problem ? <Note tone="bad">{problem}</Note> : null}
        <Items
          transcript={transcript}
          sessionId={session.id}
          results={results}
          onInsert={(text) => composer.current?.insert(text)}
        />
      </Flow>
      <div>
        {transcript.plan.length > 0 ? <Plan transcript={transcript} /> : null}
        <Composer
          ref={composer}
          draftName={`chat.${session.id}`}
          isBusy={isBusy(status)}
          placeholder={isOver(status) ? t('chat.placeholderOver') : t('chat.placeholder')}
          send={async (message, attachments, key) =>
            void (await sendMessage({ message, attachments, key, sessionId: session.id }))
          }
          onStop={stop}
        />
      </div>
    </div>
  );
}

function Items({
  transcript,
  sessionId,
  results,
  onInsert,
}: {
  transcript: Transcript;
  sessionId: string;
  results: ReturnType<typeof useLocalResults>[0];
  onInsert(text: string): void;
}) {
  const shown = useMemo(
    () =>
      [
        ...transcript.items.map((item) => ({ at: item.index, item })),
        ...results.map((result) => ({ at: result.after + 0.5, result })),
      ].sort((a, b) => a.at - b.at),
    [transcript.items, results],
  );
  return (
    <>
      {shown.map((each) =>
        'item' in each ? (
          <ItemView key={each.item.key} item={each.item} sessionId={sessionId} />
        ) : (
          <LocalCard key={each.result.id} result={each.result} onInsert={onInsert} />
        ),
      )}
      {transcript.live.map((piece) =>
        piece.of === 'thought' ? (
          <Thought key={`live ${piece.messageId} t`} text={piece.text} isLive />
        ) : (
          <div key={`live ${piece.messageId}`} className="bubble agent" aria-busy="true">
            <Prose text={piece.text} />
          </div>
        ),
      )}
      {isBusy(transcript.status) && transcript.live.length === 0 ? (
        <div className="row small faint" role="status">
          <span className="badge info live">{t('chat.working')}</span>
        </div>
      ) : null}
    </>
  );
}

/** The scrolling part: stays at the newest unless one has scrolled up, and is where it was after a reload. */
function Flow({
  transcript,
  sessionId,
  children,
}: {
  transcript: Transcript;
  sessionId: string;
  children: React.ReactNode;
}) {
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const [showJump, setShowJump] = useState(false);
  const memory = `oubliette.scroll.${sessionId}`;
  const wanted = useRef<number | undefined>(Number(sessionStorage.getItem(memory)) || undefined);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    if (wanted.current !== undefined && element.scrollHeight - element.clientHeight >= wanted.current) {
      element.scrollTop = wanted.current;
      wanted.current = undefined;
      isAtEnd.current = false;
    } else if (isAtEnd.current) element.scrollTop = element.scrollHeight;
  }, [transcript, children]);
  return (
    <div
      className="chat-scroll"
      ref={box}
      tabIndex={0}
      role="log"
      aria-label={t('chat.conversation')}
      onScroll={(event) => {
        const { scrollTop, scrollHeight, clientHeight } = event.currentTarget;
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < 60;
        setShowJump(!isAtEnd.current);
        if (isAtEnd.current) sessionStorage.removeItem(memory);
        else sessionStorage.setItem(memory, String(Math.round(scrollTop)));
      }}
    >
      <div className="chat-flow">{children}</div>
      {showJump ? (
        <div className="jump">
          <button
            className="button compact"
            onClick={() => box.current?.scrollTo({ top: box.current.scrollHeight, behavior: 'smooth' })}
          >
            {t('chat.jump')}
          </button>
        </div>
      ) : null}
    </div>
  );
}

function UsageText({ transcript, session }: { transcript: Transcript; session: Session }) {
  const usage = transcript.usage ?? session.usage;
  if (!usage || (!usage.input_tokens && !usage.output_tokens)) return null;
  return (
    <span className="tiny quiet number">
      {t('chat.usage', { input: count(usage.input_tokens ?? 0), output: count(usage.output_tokens ?? 0) })}
      {usage.cost_usd ? ` · ${money(usage.cost_usd)}` : ''}
    </span>
  );
}

function Plan({ transcript }: { transcript: Transcript }) {
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

function ChatList({ projectId }: { projectId: string | undefined }) {
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
      {sessions.isLoading ? <Skeleton rows={4} height={26} /> : null}
      {sessions.data && roots.length === 0 ? (
        <p className="small faint" style={{ padding: 8 }}>
          {t('chat.none')}
        </p>
      ) : null}
      <div className="stack tight chats">
        {roots.slice(0, 60).map((each) => (
          <Link
            key={each.id}
            to="/chat/$sessionId"
            params={{ sessionId: each.id }}
            activeProps={{ 'aria-current': 'page' }}
          >
            <span className="row between">
              <span className="cut small strong">{titleOf(each.id)}</span>
              <StatusBadge status={each.status} />
            </span>
            <span className="tiny faint">
              <When at={each.updated_at} />
            </span>
          </Link>
        ))}
      </div>
    </nav>
  );
}
