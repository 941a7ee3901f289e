import { useQuery } from '@tanstack/react-query';
import { ownQuery } from '../../api/queries.ts';
import { bytes, duration } from '../../parts/numbers.ts';
import { Card } from '../../parts/page.tsx';
import { t } from '../../texts/index.ts';

interface CallRow {
  request_id: string;
  parent?: string | null;
  at: string;
  tool: string;
  duration_ms: number;
  outcome: string;
  result_bytes?: number;
}

/** The calls a program made, with their times: the records of the gate itself. */
export function CallList({ since, ms }: { since: string; ms: number }) {
  const calls = useQuery({ ...ownQuery<{ calls: CallRow[] }>('stats_calls', { since, limit: 200 }), retry: false });
  const rows = (calls.data?.calls ?? [])
    .filter((call) => call.parent && call.tool !== 'run')
    .sort((a, b) => a.at.localeCompare(b.at));
  if (rows.length === 0) return null;
  const longest = Math.max(ms, ...rows.map((row) => row.duration_ms), 1);
  return (
    <Card title={t('console.calls', { count: rows.length })} isPlain>
      <div className="table-wrap" role="region" aria-label={t('console.calls', { count: rows.length })} tabIndex={0}>
        <table className="table">
          <thead>
            <tr>
              <th>{t('stats.tool')}</th>
              <th>{t('console.outcome')}</th>
              <th style={{ width: '40%' }}>{t('console.time')}</th>
              <th className="end">{t('console.size')}</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row, index) => (
              <tr key={`${row.request_id} ${index}`}>
                <td>
                  <code>{row.tool}</code>
                </td>
                <td>
                  <span className={`badge ${row.outcome === 'ok' ? 'good' : 'bad'}`}>{row.outcome}</span>
                </td>
                <td>
                  <div className="row">
                    <span
                      className={`calls-bar ${row.outcome === 'ok' ? '' : 'bad'}`}
                      style={{ width: `${(row.duration_ms / longest) * 70}%` }}
                    />
                    <span className="tiny quiet number">{duration(row.duration_ms)}</span>
                  </div>
                </td>
                <td className="end number small">{bytes(row.result_bytes ?? 0)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}
