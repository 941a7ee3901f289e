import { useInfiniteQuery, useQueries, useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { own, request } from '../api/client.ts';
import { isHousekeeping } from '../api/own-bundles.ts';
import { usePresence } from '../api/presence.ts';
import { allBundles, allProjects, allSessions, ownQuery, queries, toolSearch } from '../api/queries.ts';
import type { Project } from '../api/shapes.ts';
import { Icon } from '../parts/icon.tsx';
import { count } from '../parts/numbers.ts';
import { Card, Note, Page, Skeleton } from '../parts/page.tsx';
import { StatusBadge } from '../parts/status-badge.tsx';
import { toastError } from '../parts/toasts.tsx';
import { When } from '../parts/when.tsx';
import { CopyButton } from '../parts/copy.tsx';
import { t } from '../texts/index.ts';
import { ChatTitle } from './chat/chat-title.tsx';
import { newBundleId } from './tools/tool-body.ts';

const liveStatuses = ['starting', 'running', 'idle'];

/** The first page: on an empty home three things to do, later what is going on. */
export function HomePage() {
  const { who } = usePresence();
  const bundles = useQuery(allBundles());
  const projects = useQuery({ ...allProjects(), retry: false });
  const sessions = useQuery({ ...allSessions(), retry: false });
  const calls = useQuery({ ...ownQuery<{ calls: CallRow[] }>('stats_calls', { limit: 200 }), retry: false });
  const live = useQueries({ queries: liveStatuses.map((status) => ({ ...allSessions({ status }), retry: false })) });
  const own = (bundles.data ?? []).filter((each) => each.kind === 'stored');
  const called = lastCalls(calls.data?.calls ?? []);
  const toolCount = (bundles.data ?? []).reduce((sum, each) => sum + (each.isEnabled ? (each.toolCount ?? 0) : 0), 0);
  const recent = [...(sessions.data?.sessions ?? [])]
    .sort((a, b) => b.updated_at.localeCompare(a.updated_at))
    .slice(0, 5);
  const isFresh = bundles.data !== undefined && own.length === 0 && recent.length === 0;
  return (
    <Page
      title={isFresh ? t('home.welcome') : t('nav.home')}
      about={isFresh ? t('home.welcomeAbout') : t('home.about')}
    >
      {bundles.isError ? <Note tone="bad">{String(bundles.error.message)}</Note> : null}
      <div className="tiles">
        <Tile value={bundles.data && count(toolCount)} what={t('home.tools')} to="/tools" />
        <Tile value={bundles.data && count(bundles.data.length)} what={t('home.bundles')} to="/tools" />
        <Tile value={projects.data && count(projects.data.projects.length)} what={t('home.projects')} to="/chat" />
        <Tile
          value={
            live.every(({ data }) => data) ? count(live.flatMap(({ data }) => data?.sessions ?? []).length) : undefined
          }
          what={t('home.live')}
          to="/sessions"
        />
      </div>
      <section className="stack">
        <h2>{isFresh ? t('home.three') : t('home.start')}</h2>
        <div className="steps">
          <TryStep isDone={called.length > 0} />
          {who?.level === 'admin' ? <MakeStep isDone={own.length > 0} /> : null}
          {who?.level === 'read' ? null : <TalkStep isDone={recent.length > 0} project={projects.data?.projects[0]} />}
        </div>
      </section>
      <div className="columns">
        {calls.isError ? null : (
          <Card title={t('home.recentTools')} isPlain>
            {calls.isLoading ? <Skeleton rows={3} /> : null}
            {!calls.isLoading && called.length === 0 ? <p className="card-body quiet">{t('home.noCalls')}</p> : null}
            <ul className="rows">
              {called.slice(0, 5).map((call) => (
                <li key={call.tool} className="item keep">
                  <div className="main">
                    <Link
                      className="name cut"
                      to="/tools"
                      search={{ q: call.tool.replace(/^[^_]*_/, '').replaceAll('_', '-') }}
                    >
                      {call.tool}
                    </Link>
                  </div>
                  <div className="side-info">
                    <span className={`dot ${call.outcome === 'ok' ? 'good' : 'bad'}`} title={call.outcome} />
                    <span className="tiny quiet">
                      <When at={call.at} />
                    </span>
                  </div>
                </li>
              ))}
            </ul>
          </Card>
        )}
        <Card title={t('home.recentSessions')} isPlain>
          {sessions.isLoading ? <Skeleton rows={3} /> : null}
          {recent.length === 0 && !sessions.isLoading ? (
            <p className="card-body quiet">{t('home.noSessions')}</p>
          ) : null}
          <ul className="rows">
            {recent.map((session) => (
              <li key={session.id} className="item keep">
                <div className="main">
                  <Link className="name cut" to="/chat/$sessionId" params={{ sessionId: session.id }}>
                    <ChatTitle sessionId={session.id} />
                  </Link>
                  <span className="tiny faint cut">
                    {projects.data?.projects.find((each) => each.id === session.project_id)?.name ?? session.project_id}
                  </span>
                </div>
                <div className="side-info">
                  <StatusBadge status={session.status} />
                  <span className="tiny quiet">
                    <When at={session.updated_at} />
                  </span>
                </div>
              </li>
            ))}
          </ul>
        </Card>
      </div>
      <Card title={t('home.connect')}>
        <p className="quiet">{t('home.connectAbout')}</p>
        <div className="row wrap">
          <code className="words">{`${location.origin}/mcp/run`}</code>
          <CopyButton text={`${location.origin}/mcp/run`} />
        </div>
        <div className="row wrap">
          <code className="words">oubliette setup claude-code</code>
          <CopyButton text="oubliette setup claude-code" />
        </div>
      </Card>
    </Page>
  );
}

function Tile({ value, what, to }: { value: string | undefined; what: string; to: '/tools' | '/chat' | '/sessions' }) {
  return (
    <Link to={to} className="tile">
      <span className="value">{value ?? '–'}</span>
      <span className="what">{what}</span>
    </Link>
  );
}

interface StepProps {
  number: number;
  isDone: boolean;
  title: string;
  about: string;
  action: string;
  isBusy?: boolean;
  run(): void;
}

function Step({ number, isDone, title, about, action, isBusy, run }: StepProps) {
  return (
    <div className="card step">
      <span className={`count${isDone ? ' done' : ''}`}>{isDone ? <Icon name="check" size={14} /> : number}</span>
      <h3>{title}</h3>
      <p>{about}</p>
      <div>
        <button className="button" onClick={run} disabled={isBusy ?? false}>
          {action}
        </button>
      </div>
    </div>
  );
}

function TryStep({ isDone }: { isDone: boolean }) {
  const navigate = useNavigate();
  const found = useInfiniteQuery(toolSearch('foo', false, 5));
  const tools = found.data?.pages[0]?.tools ?? [];
  const tool = tools.find((each) => each.name === 'demo_foo') ?? tools[0];
  return (
    <Step
      number={1}
      isDone={isDone}
      title={t('home.tryTitle')}
      about={t('home.tryAbout')}
      action={t('home.tryAction')}
      isBusy={!tool}
      run={() =>
        tool &&
        void navigate({
          to: '/tools/$bundleID/$slug/$version',
          params: { bundleID: tool.bundleID, slug: tool.slug, version: tool.version },
        })
      }
    />
  );
}

interface CallRow {
  tool: string;
  at: string;
  outcome: string;
}

/** The newest call of each tool that people use. */
function lastCalls(calls: CallRow[]): CallRow[] {
  const newest = new Map<string, CallRow>();
  for (const call of calls)
    if (!isHousekeeping(call.tool.split('_')[0] ?? '') && !newest.has(call.tool)) newest.set(call.tool, call);
  return [...newest.values()];
}

/** Makes a bundle with a draft of a script tool in it: no key and no network needed. */
function MakeStep({ isDone }: { isDone: boolean }) {
  const navigate = useNavigate();
  const [isBusy, setBusy] = useState(false);
  const run = async (): Promise<void> => {
    setBusy(true);
    try {
      const bundles = await queries.fetchQuery({ ...allBundles(), staleTime: 0 });
      let slug = 'my-tools';
      for (let number = 2; bundles.some((each) => each.slug === slug); number++) slug = `my-tools-${number}`;
      const existing = bundles.find((each) => each.kind === 'stored');
      const id = existing?.id ?? newBundleId();
      if (!existing)
        await request('PUT', `/tools/bundles/${id}`, {
          body: { slug, displayName: t('home.bundleName'), isEnabled: true },
        });
      await queries.invalidateQueries({ queryKey: ['bundles'] });
      await navigate({ to: '/tools/$bundleID/new', params: { bundleID: id } });
    } catch (error) {
      toastError(error);
    }
    setBusy(false);
  };
  return (
    <Step
      number={2}
      isDone={isDone}
      title={t('home.makeTitle')}
      about={t('home.makeAbout')}
      action={t('home.makeAction')}
      isBusy={isBusy}
      run={() => void run()}
    />
  );
}

function TalkStep({ isDone, project }: { isDone: boolean; project: Project | undefined }) {
  const navigate = useNavigate();
  const [isBusy, setBusy] = useState(false);
  const run = async (): Promise<void> => {
    setBusy(true);
    try {
      const chosen = project ?? (await own<Project>('project_create', { name: t('home.projectName') }));
      await queries.invalidateQueries({ queryKey: ['project'] });
      await navigate({ to: '/chat', search: { project: chosen.id } });
    } catch (error) {
      toastError(error);
    }
    setBusy(false);
  };
  return (
    <Step
      number={3}
      isDone={isDone}
      title={t('home.talkTitle')}
      about={t('home.talkAbout')}
      action={t('home.talkAction')}
      isBusy={isBusy}
      run={() => void run()}
    />
  );
}
