import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { lazy, Suspense, useMemo, type ComponentProps } from 'react';
import { allProjects, allTokens, ownQuery } from '../../api/queries.ts';
import { SearchField, Segmented } from '../../parts/fields.tsx';
import { Icon } from '../../parts/icon.tsx';
import { bytes, count, duration, percent, roughCount } from '../../parts/numbers.ts';
import { downloadText } from '../../parts/output-file.ts';
import { Card, Empty, Page, Skeleton, Trouble } from '../../parts/page.tsx';
import { t } from '../../texts/index.ts';
import { asCsv, filledSeries, type Group, type StatsAnswer } from './stats-data.ts';

const Chart = lazy(() => import('./chart.tsx'));

type Period = 'day' | 'week' | 'month' | 'all';
type By = 'tool' | 'token' | 'project';

/** Calls, failures, latency and tokens over time, and by tool, token or project; every chart can be hovered and taken out as CSV. */
export function StatsPage() {
  const search = useSearch({ strict: false }) as { period?: Period; by?: By; q?: string };
  const navigate = useNavigate();
  const period = search.period ?? 'day';
  const by = search.by ?? 'tool';
  const set = (change: object): void =>
    void navigate({ to: '/stats', search: { ...search, ...change }, replace: true });
  const stats = useQuery({
    ...ownQuery<StatsAnswer>('stats_overview', { period, by }),
    placeholderData: keepPreviousData,
    refetchInterval: 30_000,
  });
  const data = stats.data;
  const lines = useMemo(() => chartLines(), []);
  const series = useMemo(() => (data ? filledSeries(data.series, data.bucket_ms, period) : []), [data, period]);
  const names = useNames(by);
  const groups = (data?.groups ?? [])
    .map((group) => ({ ...group, label: names.get(group.name) ?? group.name }))
    .filter((group) => `${group.label} ${group.name}`.toLowerCase().includes((search.q ?? '').toLowerCase()));
  return (
    <Page
      isWide
      title={t('nav.stats')}
      about={t('stats.about')}
      actions={
        <>
          <Segmented
            label={t('stats.period')}
            value={period}
            onPick={(next) => set({ period: next })}
            options={[
              ['day', t('stats.day')],
              ['week', t('stats.week')],
              ['month', t('stats.month')],
              ['all', t('stats.all')],
            ]}
          />
          <button
            className="button"
            disabled={!data}
            onClick={() => data && downloadText(`stats-${period}.csv`, asCsv(data.series), 'text/csv')}
          >
            <Icon name="download" size={14} />
            CSV
          </button>
        </>
      }
    >
      {stats.isError ? <Trouble error={stats.error} retry={() => void stats.refetch()} /> : null}
      {stats.isLoading ? (
        <Card isPlain>
          <Skeleton rows={6} />
        </Card>
      ) : null}
      {data ? (
        <>
          <Tiles data={data} />
          {data.total_calls === 0 ? (
            <Card>
              <Empty icon="stats" title={t('stats.noneTitle')}>
                <p>{t('stats.noneAbout')}</p>
              </Empty>
            </Card>
          ) : (
            <div className="columns even">
              <ChartCard title={t('stats.calls')} series={series} lines={lines.calls} isBars />
              <ChartCard title={t('stats.latency')} series={series} lines={lines.latency} unit="ms" />
              <ChartCard title={t('stats.tokens')} series={series} lines={lines.tokens} />
              <ChartCard title={t('stats.traffic')} series={series} lines={lines.traffic} unit="B" />
            </div>
          )}
          <Card
            isPlain
            title={
              <Segmented
                label={t('stats.by')}
                value={by}
                onPick={(next) => set({ by: next })}
                options={[
                  ['tool', t('stats.byTool')],
                  ['token', t('stats.byToken')],
                  ['project', t('stats.byProject')],
                ]}
              />
            }
            actions={
              <>
                <SearchField
                  label={t('stats.search')}
                  value={search.q ?? ''}
                  onText={(q) => set({ q: q || undefined })}
                />
                <button
                  className="button compact"
                  onClick={() => downloadText(`stats-by-${by}.csv`, asCsv(groups), 'text/csv')}
                >
                  <Icon name="download" size={13} />
                  CSV
                </button>
              </>
            }
          >
            {groups.length === 0 ? (
              <Empty icon="stats" title={t('common.nothingFound')} />
            ) : (
              <GroupTable groups={groups} by={by} />
            )}
          </Card>
        </>
      ) : null}
    </Page>
  );
}

/** What people call the tokens and projects that the figures know by id. */
function useNames(by: By): Map<string, string> {
  const tokens = useQuery({ ...allTokens(), enabled: by === 'token' });
  const projects = useQuery({ ...allProjects(), enabled: by === 'project' });
  const rows = by === 'token' ? tokens.data?.tokens : by === 'project' ? projects.data?.projects : [];
  return new Map((rows ?? []).map((row) => [row.id, `${row.name} (${row.id})`]));
}

function Tiles({ data }: { data: StatsAnswer }) {
  const tiles: [string, string, string?][] = [
    [count(data.total_calls), t('stats.calls')],
    [data.total_calls === 0 ? '–' : percent(data.success_rate), t('stats.success')],
    [count(data.error_count), t('stats.failures')],
    [data.total_calls === 0 ? '–' : duration(data.avg_duration_ms), t('stats.average')],
    [roughCount(data.tokens_saved), t('stats.saved'), `${count(data.tokens_saved)}. ${t('stats.savedHint')}`],
    [bytes(data.result_bytes), t('stats.out')],
  ];
  return (
    <div className="tiles">
      {tiles.map(([value, what, hint]) => (
        <div className="tile" key={what} title={hint}>
          <span className="value">{value}</span>
          <span className="what">{what}</span>
        </div>
      ))}
    </div>
  );
}

/** Made once per language, so that charts are not built anew for every pointer move. */
const chartLines = () =>
  ({
    calls: [
      ['calls', t('stats.calls'), '--accent'],
      ['failures', t('stats.failures'), '--bad'],
    ],
    latency: [
      ['p50_ms', 'p50', '--info'],
      ['p95_ms', 'p95', '--violet'],
    ],
    tokens: [
      ['tokens_saved', t('stats.saved'), '--good'],
      ['tokens_spent', t('stats.spent'), '--warn'],
    ],
    traffic: [['result_bytes', t('stats.out'), '--accent']],
  }) as const;

function ChartCard(props: ComponentProps<typeof Chart>) {
  return (
    <Card title={props.title}>
      <Suspense fallback={<div className="chart skeleton" />}>
        <Chart {...props} />
      </Suspense>
    </Card>
  );
}

function GroupTable({ groups, by }: { groups: Group[]; by: By }) {
  const most = Math.max(...groups.map((group) => group.total_calls), 1);
  return (
    <div className="table-wrap" role="region" aria-label={t('stats.calls')} tabIndex={0}>
      <table className="table">
        <thead>
          <tr>
            <th>{t(`stats.${by}`)}</th>
            <th style={{ width: '30%' }}>{t('stats.calls')}</th>
            <th className="end">{t('stats.failures')}</th>
            <th className="end">{t('stats.average')}</th>
            <th className="end">{t('stats.out')}</th>
          </tr>
        </thead>
        <tbody>
          {groups.slice(0, 200).map((group) => (
            <tr key={group.name}>
              <td className="words">
                <code>{group.label || t('stats.none')}</code>
              </td>
              <td>
                <div className="row">
                  <span className="calls-bar" style={{ width: `${(group.total_calls / most) * 75}%` }} />
                  <span className="small number">{count(group.total_calls)}</span>
                </div>
              </td>
              <td className={`end number ${group.error_count > 0 ? 'tone-bad' : ''}`}>{count(group.error_count)}</td>
              <td className="end number">{duration(group.avg_duration_ms)}</td>
              <td className="end number">{bytes(group.result_bytes)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
