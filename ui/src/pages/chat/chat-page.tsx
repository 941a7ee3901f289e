import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useEffect, useMemo, useRef, useState } from 'react';
import { own } from '../../api/client.ts';
import { allProjects, oneSession } from '../../api/queries.ts';
import type { Session } from '../../api/shapes.ts';
import { usePalette } from '../../palette/palette-host.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Menu } from '../../parts/menu.tsx';
import { Empty, Note, Skeleton, Trouble, useTitle } from '../../parts/page.tsx';
import { Prose } from '../../parts/prose.tsx';
import { StatusBadge } from '../../parts/status-badge.tsx';
import { toastError } from '../../parts/toasts.tsx';
import { t } from '../../texts/index.ts';
import { EndSession } from '../sessions/end-session.tsx';
import { UsageText, Plan } from './chat-facts.tsx';
import { Flow } from './chat-flow.tsx';
import { ChatList } from './chat-list.tsx';
import { useChatTitle } from './chat-title.tsx';
import { Composer, type ComposerHandle } from './composer.tsx';
import { useLocalResults } from './local-results.ts';
import { ProjectDialog, ProjectPicker } from './project-picker.tsx';
import { sendMessage } from './send-message.ts';
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
  const [isMaking, setMaking] = useState(false);
  const pick = (project: string): void => void navigate({ to: '/chat', search: { project } });
  useTitle(t('nav.chat'));
  return (
    <div className="page full">
      <div className="chat start">
        <ChatList projectId={picked?.id} />
        <div className="chat-main">
          <header className="chat-head">
            <h1 style={{ fontSize: 'var(--size-l)' }}>{t('chat.new')}</h1>
            {projects.data && picked ? (
              <ProjectPicker projects={projects.data.projects} picked={picked} onPick={pick} />
            ) : null}
            {isMaking ? <ProjectDialog onClose={() => setMaking(false)} onMade={pick} /> : null}
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
                  {picked ? null : (
                    <button className="button primary" onClick={() => setMaking(true)}>
                      <Icon name="plus" size={14} />
                      {t('chat.newProject')}
                    </button>
                  )}
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
            placeholder={picked ? t('chat.placeholder') : t('chat.noProjectTitle')}
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
  const [isEnding, setEnding] = useState(false);
  const composer = useRef<ComposerHandle>(null);
  const palette = usePalette();
  const newest = useRef(-1);
  useEffect(() => {
    newest.current = transcript.lastIndex;
  }, [transcript.lastIndex]);
  const status = transcript.status || session.status;
  useTitle(useChatTitle(session.id));

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
          <Link
            className="button bare icon compact narrow-only"
            to="/chat"
            search={{ project: session.project_id }}
            aria-label={t('chat.conversations')}
          >
            <Icon name="back" />
          </Link>
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
                run: () => setEnding(true),
              },
            ]}
          />
        </div>
      </header>
      {isEnding ? <EndSession sessionId={session.id} onClose={() => setEnding(false)} /> : null}
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
